// Records the answers of Prometheus' query engine to random queries, as a script in the notation of
// Prometheus' tests. The tests of crates/tsdb run the script.
//
//	go mod tidy && go run . > ../../../crates/tsdb/tests/golden/prometheus.test
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

const (
	seed    = 1
	queries = 500
)

func main() {
	r := rand.New(rand.NewSource(seed))
	data := dataset(r)
	fmt.Printf("# Recorded by benches/peers/promql from github.com/prometheus/prometheus %s, seed %d.\n", version(), seed)
	fmt.Printf("load %ds\n", stepSeconds)
	for _, series := range data {
		fmt.Println(line(series, 0, stepSeconds*1000))
	}
	parse := parser.NewParser(parser.Options{EnableExperimentalFunctions: true})
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples:               1_000_000,
		Timeout:                  time.Minute,
		LookbackDelta:            5 * time.Minute,
		NoStepSubqueryIntervalFn: func(int64) int64 { return 60_000 },
		EnableAtModifier:         true,
		EnableNegativeOffset:     true,
		EnableDelayedNameRemoval: true,
		Parser:                   parse,
	})
	g := generator{r}
	seen := map[string]bool{}
	empty, failed := 0, 0
	for len(seen) < queries {
		query := g.vector(1 + g.Intn(3))
		if seen[query] {
			continue
		}
		expr, err := parse.ParseExpr(query)
		if err != nil || expr.Type() != parser.ValueTypeVector {
			continue
		}
		command, answer, err := evaluate(engine, data, g, query)
		// Most random queries with several operators fail or find nothing: keep some of them.
		switch {
		case err != nil && failed*8 > len(seen), err == nil && answer == "" && empty*8 > len(seen):
			continue
		case err != nil:
			failed++
			answer = "  expect fail\n"
		case answer == "":
			empty++
		}
		seen[query] = true
		fmt.Printf("\n%s\n%s", command, answer)
	}
}

// evaluate answers the query at an instant or over a range.
func evaluate(engine *promql.Engine, data []promql.Series, g generator, query string) (string, string, error) {
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	start := 300 + g.Intn(42)*10
	end, step := start, 60
	var command string
	var prepared promql.Query
	var err error
	if g.chance(2) {
		command = fmt.Sprintf("eval instant at %ds %s", start, query)
		prepared, err = engine.NewInstantQuery(context.Background(), queryable(data), nil, query, at(start))
	} else {
		end, step = start+g.Intn(5)*45, 45
		command = fmt.Sprintf("eval range from %ds to %ds step %ds %s", start, end, step, query)
		prepared, err = engine.NewRangeQuery(context.Background(), queryable(data), nil, query, at(start), at(end), time.Duration(step)*time.Second)
	}
	if err != nil {
		return command, "", err
	}
	defer prepared.Close()
	result := prepared.Exec(context.Background())
	if result.Err != nil {
		return command, "", result.Err
	}
	var lines []string
	switch value := result.Value.(type) {
	case promql.Vector:
		for _, sample := range value {
			lines = append(lines, fmt.Sprintf("  %s %s\n", name(sample.Metric), number(sample.F)))
		}
	case promql.Matrix:
		for _, series := range value {
			lines = append(lines, line(series, int64(start)*1000, int64(step)*1000)+"\n")
		}
	default:
		log.Fatalf("%s answers %T", query, value)
	}
	slices.Sort(lines)
	return command, strings.Join(lines, ""), nil
}

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "github.com/prometheus/prometheus" {
			return module.Version
		}
	}
	return "(unknown version)"
}

// A queryable finds series in memory. It is its own querier.
type queryable []promql.Series

func (q queryable) Querier(int64, int64) (storage.Querier, error) { return q, nil }

func (q queryable) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &set{next: -1}
	for _, series := range q {
		isFound := true
		for _, matcher := range matchers {
			isFound = isFound && matcher.Matches(series.Metric.Get(matcher.Name))
		}
		if isFound {
			found.series = append(found.series, series)
		}
	}
	return found
}

func (q queryable) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (q queryable) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (q queryable) Close() error { return nil }

type set struct {
	series []promql.Series
	next   int
}

func (s *set) Next() bool                        { s.next++; return s.next < len(s.series) }
func (s *set) At() storage.Series                { return promql.NewStorageSeries(s.series[s.next]) }
func (s *set) Err() error                        { return nil }
func (s *set) Warnings() annotations.Annotations { return nil }
