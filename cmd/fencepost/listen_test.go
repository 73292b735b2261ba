package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
)

// unreachable is a database URL on which nothing listens.
const unreachable = "postgres://someone:secret@127.0.0.1:1/nowhere"

func TestListeningForOtherMachinesWithoutTLSNeedsAFlag(t *testing.T) {
	t.Parallel()
	for _, address := range []string{":0", "0.0.0.0:0", "[::]:0", "example.com:0"} {
		message := refused(t, "serve", "--listen", address)
		require.Contains(t, message, "--listen "+address)
		require.Contains(t, message, "--allow-plaintext")
	}
	require.Contains(t, refused(t, "serve", "--admin-listen", ":0"), "--admin-listen :0")
	require.Contains(t, refused(t, "work", "--database-url", unreachable, "--admin-listen", ":0"), "--admin-listen :0")

	for _, address := range []string{"127.0.0.1:0", "localhost:0", "[::1]:0", "127.8.8.8:0"} {
		require.NoError(t, (&listenOptions{public: address, admin: adminOptions{address: address}}).check(), address)
	}
	plaintext := adminOptions{address: ":0", allowPlaintext: true}
	require.NoError(t, (&listenOptions{public: ":0", admin: plaintext}).check())
	encrypted := listenOptions{public: ":0", certFile: "c", keyFile: "k", admin: adminOptions{address: "[::1]:0"}}
	require.NoError(t, encrypted.check())
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

func TestServeSpeaksTLS(t *testing.T) {
	t.Parallel()
	certFile, keyFile, client := newCertificate(t)
	p := serve(t, pgtest.URL(t), "--tls-cert", certFile, "--tls-key", keyFile, "--workers=0")
	require.Contains(t, p.api, "https://")
	a := callAs(t, client, name, password, http.MethodGet, p.api+"/api/etl/jobs", "")
	require.Equal(t, http.StatusOK, a.status)
	require.Equal(t, 0, p.end().code)
}

// newCertificate makes a self-signed certificate for 127.0.0.1 and a client that trusts it.
func newCertificate(t *testing.T) (certFile, keyFile string, client *http.Client) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	certFile, keyFile = filepath.Join(t.TempDir(), "cert"), filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(certFile, certificate, 0o600))
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600))

	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(certificate))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	return certFile, keyFile, &http.Client{Transport: transport}
}

func TestAdminDoorServesMetricsAndProfilesButNoCommandLine(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t), "--workers=0")
	for path, want := range map[string]int{
		"/metrics":                       http.StatusOK,
		"/debug/pprof/":                  http.StatusOK,
		"/debug/pprof/goroutine?debug=1": http.StatusOK,
		"/debug/pprof/cmdline":           http.StatusNotFound,
		"/api/etl/jobs":                  http.StatusNotFound,
	} {
		require.Equal(t, want, call(t, http.MethodGet, p.admin+path, "").status, path)
	}
	require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, p.api+"/metrics", "").status)
}

func TestDoorTellsThatItsListenerBroke(t *testing.T) {
	t.Parallel()
	d, err := openDoor(context.Background(), "--listen", "127.0.0.1:0", nil, http.NotFoundHandler())
	require.NoError(t, err)
	d.close()
	require.ErrorIs(t, d.serve(context.Background(), time.Second), net.ErrClosed)
}
