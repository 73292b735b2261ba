package operation

import "fmt"

// name writes a number of rows as people say it: 1e6, or 40000.
func name(rows int64) string {
	exponent, rest := 0, rows
	for rest >= 10 && rest%10 == 0 {
		rest, exponent = rest/10, exponent+1
	}
	if rest < 10 && exponent >= 3 {
		return fmt.Sprintf("%de%d", rest, exponent)
	}
	return fmt.Sprint(rows)
}
