package main

import (
	"fmt"
	"math"
	"math/rand"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
)

// The data: a value every stepSeconds from 0.
const (
	stepSeconds = 30
	samples     = 25
)

// dataset returns the series that the queries read.
func dataset(r *rand.Rand) []promql.Series {
	var all []promql.Series
	add := func(next func(index int) (float64, bool), name string, pairs ...string) {
		series := promql.Series{Metric: labels.FromStrings(append(pairs, "__name__", name)...)}
		for index := range samples {
			if value, ok := next(index); ok {
				point := promql.FPoint{T: int64(index) * stepSeconds * 1000, F: value}
				series.Floats = append(series.Floats, point)
			}
		}
		all = append(all, series)
	}
	for _, job := range []string{"a", "b"} {
		for instance := range 3 {
			count, resets := float64(r.Intn(50)), r.Intn(2) == 0
			add(func(index int) (float64, bool) {
				count += float64(r.Intn(40))
				if resets && index%9 == 8 {
					count = float64(r.Intn(5))
				}
				return count, true
			}, "c_total", "job", job, "instance", strconv.Itoa(instance))
		}
		for instance := range 2 {
			for _, mode := range []string{"x", "y"} {
				gaps := instance == 1
				add(func(index int) (float64, bool) {
					if gaps && index == 14 {
						return math.Float64frombits(value.StaleNaN), true
					}
					return float64(r.Intn(4000)-1000) / 8, !gaps || r.Intn(4) > 0
				}, "g", "job", job, "instance", strconv.Itoa(instance), "mode", mode)
			}
		}
		counts := make([]float64, 4)
		var columns [samples][4]float64
		for index := range samples {
			for bucket := range counts {
				counts[bucket] += float64(r.Intn(6))
			}
			sum := 0.0
			for bucket, count := range counts {
				sum += count
				columns[index][bucket] = sum
			}
		}
		for bucket, le := range []string{"0.1", "0.5", "1", "+Inf"} {
			add(func(index int) (float64, bool) { return columns[index][bucket], true }, "h_bucket", "job", job, "le", le)
		}
	}
	for kind, values := range map[string][]float64{
		"nan": {math.NaN(), 1, 2}, "inf": {1, math.Inf(1), math.Inf(-1)}, "neg": {-1.5, -0.25},
		"big": {1e300, -1e300, 7}, "zero": {0},
	} {
		add(func(index int) (float64, bool) { return values[index%len(values)], true }, "odd", "kind", kind)
	}
	for _, instance := range []string{"0", "1"} {
		add(func(index int) (float64, bool) { return 1, index < 12 }, "target_info", "job", "a", "instance", instance, "version", "1")
		add(func(index int) (float64, bool) { return 1, index >= 12 }, "target_info", "job", "a", "instance", instance, "version", "2")
	}
	slices.SortFunc(all, func(a, b promql.Series) int { return labels.Compare(a.Metric, b.Metric) })
	return all
}

// line writes a series in the notation of Prometheus' tests, with a value every step ms from start.
func line(series promql.Series, start, step int64) string {
	var text strings.Builder
	text.WriteString("  " + name(series.Metric))
	next := start
	for _, point := range series.Floats {
		for ; next < point.T; next += step {
			text.WriteString(" _")
		}
		text.WriteString(" " + number(point.F))
		next += step
	}
	return text.String()
}

// A plain name can stand before the braces.
var plain = regexp.MustCompile(`^[a-zA-Z0-9_:]*$`)

func name(all labels.Labels) string {
	var pairs []string
	all.Range(func(label labels.Label) {
		if label.Name != "__name__" {
			pairs = append(pairs, fmt.Sprintf("%s=%q", label.Name, label.Value))
		}
	})
	name := all.Get("__name__")
	if !plain.MatchString(name) {
		pairs = append(pairs, fmt.Sprintf("__name__=%q", name))
		name = ""
	}
	return name + "{" + strings.Join(pairs, ",") + "}"
}

func number(number float64) string {
	if value.IsStaleNaN(number) {
		return "stale"
	}
	return strconv.FormatFloat(number, 'g', -1, 64)
}
