// Writes 10,000 generated patterns with the verdict of Go's regexp, which is RE2's, on each of the texts
// in texts.txt: go run main.go > verdicts.txt
//
// A line holds a pattern and, behind a tab, one bit for each text as a hexadecimal number, or "-" if the
// pattern is refused.
package main

import (
	"bufio"
	"fmt"
	"math/rand"
	"os"
	"regexp"
	"regexp/syntax"
	"strings"
)

var tokens = strings.Split(`a b A B 0 1 _ é ſ - ] } , & && -- ~~ < > \< \> \. \- \_ \[ \] \{ \\ . .* .+ ^ $ | | (a) (b|) ( ) (?:a|b) (?i) (?i:a) (?s-) (?-s:.) (?s-i:.a) (?-s). (?ii)A () (?U) (?x) (?P<n>a) (?<n>b) (?<n>) (?i)* (?=a) * + ? *? +? ?? a** { {a {} {,2} {1} {2} {2,} {1,2} {2,1} {01} {0} a{500} a{1000} a{1001} (?:a{20}){20} (?:a{40}){30} {2}{3} {2}? \d \D \w \W \s \S \b \B \A \z \Z \C \E \Q \Q.\E \Qa|b\E \Q[a\E* \pL \PL \p{Lu} \p{^Lu} \P{^Lu} \p{Foo} \x41 \x{e9} \x4 \x{110000} \0 \01 \101 \1 \8 \a \n \t \é [a] [^a] []a] [^]a] [[] [[]a] [a-] [-a] [a-b] [b-a] [--a] [a&&b] [a--b] [a~~b] [\d] [^\d] [\w-] [a-\d] [\W] [[:alpha:]] [[:^alpha:]] [^[:digit:]] [[:foo:]] [[:alpha:] [\]] [\pL] [\x41-\x{42}] [\n] [^ (?i)[^a] (?i)\w (?i)k`, " ")

func main() {
	file, err := os.ReadFile("texts.txt")
	if err != nil {
		panic(err)
	}
	texts := strings.Split(strings.TrimRight(string(file), "\n"), "\n")
	for i := range texts {
		texts[i] = strings.ReplaceAll(texts[i], `\n`, "\n")
	}
	random := rand.New(rand.NewSource(51))
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	seen := map[string]bool{}
	for len(seen) < 10000 {
		pattern := ""
		for range 1 + random.Intn(6) {
			pattern += tokens[random.Intn(len(tokens))]
		}
		if random.Intn(3) == 0 {
			pattern = "(" + pattern + ")*"
		}
		if seen[pattern] {
			continue
		}
		seen[pattern] = true
		verdict := "-"
		// As Prometheus compiles the pattern of a matcher.
		if parsed, err := syntax.Parse(pattern, syntax.Perl|syntax.DotNL); err == nil {
			re := regexp.MustCompile("^(?s:" + parsed.String() + ")$")
			bits := 0
			for i, text := range texts {
				if re.MatchString(text) {
					bits |= 1 << i
				}
			}
			verdict = fmt.Sprintf("%x", bits)
		}
		fmt.Fprintf(out, "%s\t%s\n", pattern, verdict)
	}
}
