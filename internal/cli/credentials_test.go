package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
	"fencepost/internal/servertest"
)

func TestCredentialsComeFromAFileThatNobodyElseReads(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t), servertest.WithoutWorkers)
	list := func(e env, args ...string) outcome {
		return invoke(t, e, nil, append([]string{"job", "list", "--server", p.api}, args...)...)
	}
	content := servertest.Name + ":" + servertest.Password + "\r\nanother line\n"
	file := servertest.File(t, "credentials", content, 0o600)
	require.Equal(t, 0, list(nil, "--credentials-file", file).code)
	require.Equal(t, 0, list(env{"FENCEPOST_CREDENTIALS_FILE": file}).code)
	require.Equal(t, exitCredentials, list(nil, "--credentials-file", file, "--user", servertest.Name, "--password", "a wrong one").code,
		"flags win over the file")

	for _, c := range []struct{ path, message string }{
		{servertest.File(t, "credentials", content, 0o640), "chmod 600"},
		{servertest.File(t, "credentials", content, 0o604), "chmod 600"},
		{file + ".missing", "no such file"},
		{t.TempDir(), "is a directory"},
		{servertest.File(t, "credentials", "no colon", 0o600), "must be user:password"},
		{servertest.File(t, "credentials", ":no user", 0o600), "must be user:password"},
		{servertest.File(t, "credentials", "ann:\nsecret", 0o600), "must be user:password"},
	} {
		o := list(nil, "--credentials-file", c.path)
		require.Equal(t, exitUsage, o.code)
		require.Contains(t, o.stderr, "--credentials-file: ")
		require.Contains(t, o.stderr, c.message)
		require.NotContains(t, o.stderr, servertest.Password)
	}
}

func TestCredentialsMustBeComplete(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env     env
		message string
	}{
		{nil, "FENCEPOST_USER and FENCEPOST_PASSWORD"},
		{env{"FENCEPOST_USER": "ann"}, "need each other"},
		{env{"FENCEPOST_PASSWORD": "secret"}, "need each other"},
	} {
		o := invoke(t, c.env, nil, "job", "list")
		require.Equal(t, exitUsage, o.code)
		require.Contains(t, o.stderr, c.message)
		require.NotContains(t, o.stderr, "secret")
	}
}
