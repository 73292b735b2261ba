package main

import (
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
)

func TestListeningForOtherMachinesWithoutTLSNeedsAFlag(t *testing.T) {
	t.Parallel()
	for _, address := range []string{":0", "0.0.0.0:0", "[::]:0", "example.com:0"} {
		message := refused(t, "serve", "--listen", address)
		require.Contains(t, message, "--listen "+address)
		require.Contains(t, message, "--allow-plaintext")
	}
	require.Contains(t, refused(t, "serve", "--admin-listen", ":0"), "--admin-listen :0")
	require.Contains(t, refused(t, "work", "--database-url", unreachable, "--admin-listen", ":0"), "--admin-listen :0")
}

func TestAddressInUseIsTold(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	address := taken.Addr().String()
	for _, flag := range []string{"--listen", "--admin-listen"} {
		message := refused(t, "serve", "--database-url", url, "--users-file", usersFile(t),
			"--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", flag+"="+address)
		require.Contains(t, message, address+" is in use by another program: choose another address with "+flag)
	}
	require.Contains(t, refused(t, "work", "--database-url", url, "--admin-listen", address), "is in use")
}

func TestMalformedAddressIsTold(t *testing.T) {
	t.Parallel()
	message := refused(t, "serve", "--database-url", pgtest.URL(t), "--users-file", usersFile(t), "--listen", "8080")
	require.Contains(t, message, "--listen: ")
}

func TestCertificateMustBeUsable(t *testing.T) {
	t.Parallel()
	require.Contains(t, refused(t, "serve", "--tls-cert", "c"), "--tls-cert and --tls-key need each other")
	require.Contains(t, refused(t, "serve", "--tls-key", "k"), "--tls-cert and --tls-key need each other")
	message := refused(t, "serve", "--database-url", pgtest.URL(t), "--users-file", usersFile(t),
		"--listen", ":0", "--tls-cert", os.DevNull, "--tls-key", os.DevNull)
	require.Contains(t, message, "--tls-cert, --tls-key: ")
}
