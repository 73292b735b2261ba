package telemetry

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// other is the label value of everything that is not on a label's list.
const other = "other"

// label is a metric label with a closed list of values.
type label struct {
	name   string
	values []string
}

func labelOf[T ~string](name string, values ...T) label {
	l := label{name: name}
	for _, v := range values {
		l.values = append(l.values, string(v))
	}
	return l
}

func (l label) constrain(value string) string {
	if slices.Contains(l.values, value) {
		return value
	}
	return other
}

func constrained(labels []label) prometheus.ConstrainedLabels {
	result := make(prometheus.ConstrainedLabels, len(labels))
	for i, l := range labels {
		result[i] = prometheus.ConstrainedLabel{Name: l.name, Constraint: l.constrain}
	}
	return result
}

// newCounter makes a counter with one label, at zero for each of its values, so that a first event shows up as a rate.
func newCounter(name, help string, l label) *prometheus.CounterVec {
	c := newCounters(name, help, l)
	for _, value := range l.values {
		c.WithLabelValues(value)
	}
	return c
}

func newCounters(name, help string, labels ...label) *prometheus.CounterVec {
	return prometheus.V2.NewCounterVec(prometheus.CounterVecOpts{
		CounterOpts:    prometheus.CounterOpts{Name: name, Help: help},
		VariableLabels: constrained(labels),
	})
}

func newHistograms(name, help string, buckets []float64, labels ...label) *prometheus.HistogramVec {
	return prometheus.V2.NewHistogramVec(prometheus.HistogramVecOpts{
		HistogramOpts:  prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets},
		VariableLabels: constrained(labels),
	})
}

func newHistogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// gauge and count make the value of a metric that is asked for at each scrape.
func gauge(d *prometheus.Desc, value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func count(d *prometheus.Desc, value float64) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.CounterValue, value)
}
