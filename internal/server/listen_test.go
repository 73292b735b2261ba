package server_test

import (
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
	"fencepost/internal/server"
	"fencepost/internal/servertest"
)

func TestServeSpeaksTLS(t *testing.T) {
	t.Parallel()
	certFile, keyFile, client := newCertificate(t)
	p := servertest.Serve(t, pgtest.URL(t), servertest.WithoutWorkers, func(c *server.Config) {
		c.Public.CertFile, c.Public.KeyFile = certFile, keyFile
	})
	require.Contains(t, p.API, "https://")
	a := servertest.CallAs(t, client, servertest.Name, servertest.Password, http.MethodGet, p.API+"/api/etl/jobs", "")
	require.Equal(t, http.StatusOK, a.Status)
	require.NoError(t, p.End())
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
	p := servertest.Serve(t, pgtest.URL(t), servertest.WithoutWorkers)
	for path, want := range map[string]int{
		"/metrics":                       http.StatusOK,
		"/debug/pprof/":                  http.StatusOK,
		"/debug/pprof/goroutine?debug=1": http.StatusOK,
		"/debug/pprof/cmdline":           http.StatusNotFound,
		"/api/etl/jobs":                  http.StatusNotFound,
	} {
		require.Equal(t, want, servertest.Call(t, http.MethodGet, p.Admin+path, "").Status, path)
	}
	require.Equal(t, http.StatusNotFound, servertest.Call(t, http.MethodGet, p.API+"/metrics", "").Status)
}
