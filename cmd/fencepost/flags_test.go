package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValueOutOfRangeStopsTheStartAndNamesFlagAndRange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ flag, low, high, span string }{
		{"--workers", "-1", "257", "from 0 to 256"},
		{"--pool-size", "1", "1001", "from 2 to 1000"},
		{"--lock-timeout", "9ms", "61s", "from 10ms to 1m0s"},
		{"--lease-duration", "999ms", "24h1s", "from 1s to 24h0m0s"},
		{"--poll-interval", "9ms", "61m", "from 10ms to 1h0m0s"},
		{"--max-attempts", "0", "101", "from 1 to 100"},
		{"--retry-backoff", "1ms", "16m", "from 10ms to 15m0s"},
		{"--drain-timeout", "-1s", "61m", "from 0s to 1h0m0s"},
		{"--max-payload-bytes", "0", "67108865", "from 1 to 67108864"},
		{"--max-batch-records", "0", "100001", "from 1 to 100000"},
		{"--rate-limit-submit", "-0.1", "100001", "from 0 to 100000"},
		{"--rate-limit-cancel", "-0.1", "NaN", "from 0 to 100000"},
		{"--rate-limit-replay", "-0.1", "+Inf", "from 0 to 100000"},
	} {
		for _, value := range []string{c.low, c.high, "x"} {
			message := refused(t, "serve", c.flag+"="+value)
			require.Contains(t, message, c.flag)
			require.Contains(t, message, "must be "+c.span)
		}
	}
}

func TestValueThatIsNotOnTheListStopsTheStartAndNamesTheList(t *testing.T) {
	t.Parallel()
	message := refused(t, "serve", "--log-level=loud")
	require.Contains(t, message, "--log-level")
	require.Contains(t, message, "must be one of debug, info, warn, error")
}

func TestReasonThatIsNoCodeStopsTheStartAndTellsTheForm(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"Wrong batch", "wrong_batch,wrong_batch", "etl_job_cancelled_by_owner"} {
		message := refused(t, "serve", "--cancellation-reasons="+value)
		require.Contains(t, message, "--cancellation-reasons")
		require.Contains(t, message, "must be different codes such as wrong_batch,superseded")
	}
}

func TestPoolMustBeLargerThanTheWorkers(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"serve", "work"} {
		message := refused(t, command, "--database-url", "postgres://unused", "--workers=4", "--pool-size=4")
		require.Contains(t, message, "--pool-size must be more than --workers")
	}
}

func TestCommandThatThereIsNotIsAnError(t *testing.T) {
	t.Parallel()
	for group, code := range map[string]int{"": 1, "migrate": 1, "users": 1, "job": 2} {
		o := invoke(t, nil, nil, append(strings.Fields(group), "bogus")...)
		require.Equal(t, code, o.code, group)
		require.Empty(t, o.stdout)
		require.Contains(t, o.stderr, `unknown command "bogus" for "`+strings.TrimSpace("fencepost "+group)+`"`)

		alone := invoke(t, nil, nil, strings.Fields(group)...)
		require.Equal(t, 0, alone.code, group)
		require.Contains(t, alone.stdout, "Available Commands:")
	}
}
