package telemetry

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLoggerWritesTheChosenFormat(t *testing.T) {
	t.Parallel()
	var text, lines bytes.Buffer
	NewLogger(&text, "text", "info").Info("hello", "a_key", 1)
	NewLogger(&lines, "json", "info").With("a_key", 1).WithGroup("g").Info("hello", "b_key", 2)

	require.Contains(t, text.String(), "level=INFO msg=hello a_key=1\n")
	var line map[string]any
	require.NoError(t, json.Unmarshal(lines.Bytes(), &line))
	require.InDelta(t, 1, line["a_key"], 0)
	require.Equal(t, map[string]any{"b_key": 2.0}, line["g"])
}

func TestLoggerKeepsTheChosenLevelAndAbove(t *testing.T) {
	t.Parallel()
	for i, level := range LogLevels {
		var out bytes.Buffer
		log := NewLogger(&out, "text", level)
		log.Debug("line")
		log.Info("line")
		log.Warn("line")
		log.Error("line")
		require.Equal(t, len(LogLevels)-i, strings.Count(out.String(), "msg=line"), level)
	}
}
