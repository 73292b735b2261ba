package auth

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestClientWithTooManyFailuresIsAnsweredWithoutBcrypt(t *testing.T) {
	t.Parallel()
	f := open(t, user("ann", "secret")+user("bob", "secret"), Options{MaxFailures: 3, FailureWindow: time.Minute})
	require.True(t, f.accepts("bob", "secret"))
	f.pass(time.Second)
	for i := range 10 {
		require.False(t, f.accepts("ann", fmt.Sprint("guess ", i)))
	}
	require.Equal(t, 1+3, f.compares)
	require.False(t, f.accepts("ann", "secret"), "not checked, so not let in")
	require.True(t, f.accepts("bob", "secret"), "remembered, so let in")
	require.True(t, f.acceptsFrom("192.0.2.99:1", "ann", "secret"), "another client")

	f.pass(time.Minute - 1)
	require.False(t, f.accepts("bob", "wrong"))
	require.Equal(t, 1+3+1, f.compares)
	f.pass(1)
	require.False(t, f.accepts("bob", "wrong"))
	require.Equal(t, 1+3+1+1, f.compares, "the window has passed")
}

func TestRightCredentialsAreNoFailures(t *testing.T) {
	t.Parallel()
	f := open(t, user("ann", "secret"), Options{MaxFailures: 1, FailureWindow: time.Hour})
	for range 5 {
		require.True(t, f.accepts("ann", "secret"))
		f.pass(rememberFor)
	}
	require.Equal(t, 5, f.compares)
}

func TestMalformedCredentialsAreNoFailures(t *testing.T) {
	t.Parallel()
	f := open(t, user("ann", "secret"), Options{MaxFailures: 1})
	for range 5 {
		require.False(t, f.accepts("ann", "\x00"))
	}
	require.True(t, f.accepts("ann", "secret"))
}

func TestFailureLimitCanBeOff(t *testing.T) {
	t.Parallel()
	f := open(t, user("ann", "secret"), Options{MaxFailures: -1})
	for i := range 2 * defaultMaxFailures {
		require.False(t, f.accepts("ann", fmt.Sprint("guess ", i)))
	}
	require.True(t, f.accepts("ann", "secret"))
}

func TestForgivingAnAttemptOfAnOldWindowGivesNoCredit(t *testing.T) {
	t.Parallel()
	a := newAttempts(2, time.Minute)
	client, start := clientOf("192.0.2.1:1"), time.Unix(1_800_000_000, 0)
	require.True(t, a.begin(client, start))
	require.True(t, a.begin(client, start))
	later := start.Add(time.Minute)
	require.True(t, a.begin(client, later))
	for range 3 {
		a.forgive(client)
	}
	require.True(t, a.begin(client, later))
	require.True(t, a.begin(client, later))
	require.False(t, a.begin(client, later))
}

func TestCountedClientsAreBounded(t *testing.T) {
	t.Parallel()
	a := newAttempts(1, time.Minute)
	for i := range maxClients + 10 {
		a.begin(clientOf(fmt.Sprintf("10.0.%d.%d:1", i/256, i%256)), time.Unix(1_800_000_000, 0))
	}
	require.Equal(t, maxClients, a.tallies.Len())
}

func TestClientIsAnIPv4AddressOrAnIPv6Network(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.1:1234":              "192.0.2.1/32",
		"[::ffff:192.0.2.1]:1234":     "192.0.2.1/32",
		"[2001:db8:1:2:3:4:5:6]:1234": "2001:db8:1:2::/64",
		"[fe80::1%eth0]:1234":         "fe80::/64",
		"@":                           "invalid Prefix",
		"":                            "invalid Prefix",
	} {
		require.Equal(t, want, clientOf(address).String(), address)
	}
}
