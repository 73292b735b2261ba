package compare

// Curve is how one number depends on another.
type Curve struct {
	Name   string  `json:"name"`
	X      string  `json:"x"`
	Y      string  `json:"y"`
	Points []Point `json:"points"`
}

// Point is one measurement of a curve.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// Add appends a measurement.
func (c *Curve) Add(x, y float64) { c.Points = append(c.Points, Point{x, y}) }
