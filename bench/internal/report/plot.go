package report

import (
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"fencepost/bench/internal/compare"
)

// The size of a plot.
const (
	plotWidth  = 16 * vg.Centimeter
	plotHeight = 10 * vg.Centimeter
)

// draw makes an SVG file of a curve in a directory and returns its name. A long x axis is logarithmic; y begins at 0.
func draw(dir string, c compare.Curve) (string, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Name, c.X, c.Y
	p.Y.Min = 0
	points := make(plotter.XYs, len(c.Points))
	for i, point := range c.Points {
		points[i] = plotter.XY{X: point.X, Y: point.Y}
	}
	line, dots, err := plotter.NewLinePoints(points)
	if err != nil {
		return "", err
	}
	p.Add(plotter.NewGrid(), line, dots)
	if first, last := points[0].X, points[len(points)-1].X; first > 0 && last/first >= 10 {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	name := strings.ToLower(strings.ReplaceAll(c.Name, " ", "-")) + ".svg"
	return name, p.Save(plotWidth, plotHeight, filepath.Join(dir, name))
}
