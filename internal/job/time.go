package job

import (
	"strconv"
	"time"
)

// AppendTime appends a time as everybody is told it: RFC 3339 in UTC, with all six digits of the database's microseconds, as in
// 2026-01-31T12:00:00.000000Z.
func AppendTime(to []byte, t time.Time) []byte {
	t = t.UTC()
	to = t.AppendFormat(to, time.RFC3339) // many times as fast as a layout of one's own
	point := len(to) - len("Z")
	const second = int64(time.Second / time.Microsecond)
	to = strconv.AppendInt(to[:point], second+int64(t.Nanosecond())/int64(time.Microsecond), 10)
	to[point] = '.'
	return append(to, 'Z')
}

// FormatTime is what [AppendTime] appends, as a text.
func FormatTime(t time.Time) string {
	var room [32]byte
	return string(AppendTime(room[:0], t))
}
