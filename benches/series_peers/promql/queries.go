package main

import (
	"fmt"
	"math/rand"
	"strings"
)

// A generator writes random queries. Equal seeds write equal queries.
type generator struct{ *rand.Rand }

func (g generator) pick(options ...string) string { return options[g.Intn(len(options))] }

// chance is true in one of n cases.
func (g generator) chance(n int) bool { return g.Intn(n) == 0 }

// vector writes an instant vector with at most depth operations inside one another.
func (g generator) vector(depth int) string {
	if depth == 0 {
		return g.selector() + g.placement()
	}
	d := depth - 1
	switch g.Intn(15) {
	case 0:
		return g.selector() + g.placement()
	case 1, 2:
		return fmt.Sprintf("%s(%s)", g.pick("abs", "ceil", "floor", "sgn", "sqrt", "ln", "exp", "round",
			"deg", "sin", "-", "timestamp", "sort", "absent"), g.vector(d))
	case 3:
		return g.pick(
			// Go leaves open which date NaN and great numbers have.
			fmt.Sprintf("%s(c_total * %s)", g.pick("hour", "minute", "day_of_month", "day_of_week", "year"), g.pick("1e4", "-3600", "86400")),
			fmt.Sprintf("clamp(%s, %s, %s)", g.vector(d), g.number(), g.number()),
			fmt.Sprintf("clamp_max(%s, %s)", g.vector(d), g.scalar(d)),
			fmt.Sprintf("round(%s, %s)", g.vector(d), g.pick("5", "0.25", "10")))
	case 4, 5, 6:
		return g.window(d)
	case 7, 8, 9:
		return g.aggregation(d)
	case 10:
		return fmt.Sprintf("(%s) %s %s", g.vector(d), g.operator(), g.scalar(d))
	case 11:
		return fmt.Sprintf("%s %s (%s)", g.scalar(d), g.operator(), g.vector(d))
	case 12:
		return g.joined(d)
	case 13:
		return fmt.Sprintf("(%s) %s%s (%s)", g.vector(d), g.pick("and", "or", "unless"), g.matching(), g.vector(d))
	default:
		return g.labelled(d)
	}
}

func (g generator) selector() string {
	switch g.Intn(8) {
	case 0:
		return `{__name__=~"c_total|g", job="a"}`
	case 1:
		return fmt.Sprintf(`odd{kind%s}`, g.pick(`="nan"`, `=~"n.+"`, `!="inf"`, `!~"big|zero"`, `!=""`))
	case 2, 3:
		return g.pick("g", `g{mode="x"}`, `g{job!="a",mode=~"x|y"}`, `g{instance="1"}`)
	case 4:
		return g.pick("h_bucket", `h_bucket{job="b"}`)
	case 5:
		return "target_info"
	default:
		return g.pick("c_total", `c_total{job="a"}`, `c_total{instance=~"0|2"}`)
	}
}

func (g generator) placement() string {
	switch g.Intn(10) {
	case 0:
		return " offset " + g.pick("1m", "-1m", "90s", "10m")
	case 1:
		return " @ " + g.pick("300", "start()", "end()", "415.5")
	default:
		return ""
	}
}

func (g generator) matrix(depth int) string {
	width := g.pick("45s", "1m", "2m", "5m", "7m30s")
	if depth > 0 && g.chance(4) {
		return fmt.Sprintf("(%s)[%s:%s]%s", g.vector(depth-1), width, g.pick("30s", "20s", "1m", ""), g.placement())
	}
	return fmt.Sprintf("%s[%s]%s", g.selector(), width, g.placement())
}

func (g generator) window(depth int) string {
	matrix := g.matrix(depth)
	switch g.Intn(6) {
	case 0:
		return fmt.Sprintf("quantile_over_time(%s, %s)", g.pick("0.5", "0", "0.9", "1.5", "NaN"), matrix)
	case 1:
		return g.pick(
			fmt.Sprintf("predict_linear(%s, %s)", matrix, g.number()),
			fmt.Sprintf("double_exponential_smoothing(%s, %s, %s)", matrix, g.pick("0.3", "0.5"), g.pick("0.1", "0.8")))
	case 2, 3:
		return fmt.Sprintf("%s(%s)", g.pick("rate", "increase", "delta", "irate", "idelta", "resets", "changes", "deriv"), matrix)
	default:
		return fmt.Sprintf("%s_over_time(%s)", g.pick("avg", "sum", "min", "max", "count", "stddev", "stdvar", "last", "first",
			"present", "absent", "mad", "ts_of_min", "ts_of_max", "ts_of_first", "ts_of_last"), matrix)
	}
}

func (g generator) aggregation(depth int) string {
	grouping := g.pick("", " by (job)", " by (instance, mode)", " without (instance)", " by (__name__)", " without (le, kind)")
	operand := g.vector(depth)
	switch g.Intn(10) {
	case 0:
		return fmt.Sprintf("quantile%s (%s, %s)", grouping, g.pick("0.5", "0.25", "-1"), operand)
	case 1:
		// Other values can differ in their last digits, which the label shows.
		return fmt.Sprintf("count_values%s (\"v\", %s)", grouping, g.selector())
	case 2:
		return fmt.Sprintf("histogram_quantile(%s, %s)", g.pick("0.5", "0.9", "0", "2"),
			g.pick("h_bucket", "rate(h_bucket[5m])", "sum by (le) (increase(h_bucket[3m]))"))
	case 3:
		return fmt.Sprintf("histogram_fraction(%s, %s, %s)", g.pick("0", "0.2", "-Inf"), g.pick("0.5", "0.7", "+Inf"),
			g.pick("h_bucket", "rate(h_bucket[5m])", "sum by (le) (h_bucket)"))
	default:
		return fmt.Sprintf("%s%s (%s)", g.pick("sum", "avg", "min", "max", "count", "group", "stddev", "stdvar"), grouping, operand)
	}
}

func (g generator) matching() string {
	return g.pick("", " on (job)", " on (job, instance)", " ignoring (mode)", " ignoring (instance, mode)", " on ()", " on (__name__, job)")
}

func (g generator) operator() string {
	operator := g.pick("+", "-", "*", "/", "%", "^", "atan2", "==", "!=", ">", "<", ">=", "<=")
	if strings.ContainsAny(operator, "=<>") && g.chance(3) {
		return operator + " bool"
	}
	return operator
}

func (g generator) joined(depth int) string {
	matching := g.matching()
	if matching != "" {
		matching += g.pick("", "", " group_left", " group_right", " group_left (version)", " group_right (mode)")
	}
	left, right, operator := g.vector(depth), g.vector(depth), g.operator()
	if strings.ContainsAny(operator, "=<>") && !strings.Contains(operator, "bool") {
		// Prometheus 3.16 finds the dropped name of an operand again if a comparison keeps the operand.
		left, right = g.selector()+g.placement(), g.selector()+g.placement()
	}
	if g.chance(2) {
		right = fmt.Sprintf("sum%s (%s)", g.pick("", " by (job)", " by (job, instance)", " without (mode)"), right)
	}
	return fmt.Sprintf("(%s) %s%s (%s)", left, operator, matching, right)
}

func (g generator) labelled(depth int) string {
	operand := g.vector(depth)
	switch g.Intn(6) {
	case 0:
		return fmt.Sprintf(`label_replace(%s, "%s", "$1-x", "%s", "(.*)")`, operand,
			g.pick("new", "job", "__name__"), g.pick("job", "__name__", "mode", "none"))
	case 1:
		return fmt.Sprintf(`label_join(%s, "%s", "/", "job", "%s")`, operand, g.pick("new", "__name__"), g.pick("instance", "__name__"))
	case 2:
		return fmt.Sprintf("info(%s%s)", operand, g.pick("", `, {version=~".+"}`, `, {version=~".*", job!=""}`))
	case 3:
		return fmt.Sprintf("%s(%s)", g.pick("topk", "bottomk"), fmt.Sprintf("%s, %s", g.pick("1", "2", "3"), `g{mode="x"}`))
	case 4:
		return fmt.Sprintf("vector(%s)", g.scalar(depth))
	default:
		return fmt.Sprintf("sort_by_label(%s, \"instance\")", operand)
	}
}

func (g generator) number() string {
	return g.pick("0", "1", "2.5", "-3", "100", "60", "1e3")
}

func (g generator) scalar(depth int) string {
	switch g.Intn(12) {
	case 0:
		return g.pick("time()", "start()", "end()", "step()", "range()", "pi()")
	case 1:
		return fmt.Sprintf("scalar(%s)", g.vector(depth))
	case 2:
		return fmt.Sprintf("%s(%s, %s)", g.pick("min_of", "max_of"), g.number(), g.pick("time()", "NaN", "7"))
	default:
		return g.number()
	}
}
