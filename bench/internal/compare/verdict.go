package compare

import "slices"

// Range is the median of several measurements, with the least and the greatest.
type Range struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// rangeOf is zero for no measurements.
func rangeOf(values []float64) Range {
	if len(values) == 0 {
		return Range{}
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	median := sorted[middle]
	if len(sorted)%2 == 0 {
		median = (sorted[middle-1] + sorted[middle]) / 2
	}
	return Range{Median: median, Min: sorted[0], Max: sorted[len(sorted)-1]}
}

// Verdict is a goal with what was measured.
type Verdict struct {
	Name string `json:"name"`
	// Must and Aim are bounds: from below for a ratio of rates, from above for a time or a size.
	Must float64 `json:"must"`
	Aim  float64 `json:"aim"`
	// AtMost tells that less is better.
	AtMost bool `json:"at_most,omitempty"`
	// Unit is empty for a ratio.
	Unit     string `json:"unit,omitempty"`
	Measured Range  `json:"measured"`
}

// ReachesMust reports whether the median is within the outer bound.
func (v Verdict) ReachesMust() bool { return v.reaches(v.Must) }

// ReachesAim reports whether the median is within the inner bound.
func (v Verdict) ReachesAim() bool { return v.reaches(v.Aim) }

func (v Verdict) reaches(bound float64) bool {
	if v.AtMost {
		return v.Measured.Median <= bound
	}
	return v.Measured.Median >= bound
}

// AtMost judges a measured time or size.
func AtMost(name, unit string, must, aim float64, values ...float64) Verdict {
	return Verdict{Name: name, Unit: unit, Must: must, Aim: aim, AtMost: true, Measured: rangeOf(values)}
}

// AtLeast judges a ratio that was measured once.
func AtLeast(name string, must, aim, value float64) Verdict {
	return Verdict{Name: name, Must: must, Aim: aim, Measured: rangeOf([]float64{value})}
}

// Number is something measured that no goal bounds.
type Number struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// Measured is a result that is no comparison, but times or sizes against bounds.
func Measured(title, void string, verdicts ...Verdict) Result {
	return Result{Name: title, Void: void, Goals: verdicts}
}
