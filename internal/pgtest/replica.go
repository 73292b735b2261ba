package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// Replica starts a hot standby that streams from a server made by [Server], and whose life ends with the test. The server may
// be started again for that, so connections to it break; and where it runs in a container, its crash ends the replica too.
func (i *Instance) Replica(t testing.TB) *Instance {
	t.Helper()
	standby, err := i.standby(t.Context())
	if err != nil {
		t.Fatalf("pgtest: start a replica: %v", err)
	}
	t.Cleanup(func() {
		if err := standby.remove(); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	return &Instance{engine: standby}
}

// standby copies the data directory while the server is stopped. That needs no further program, so it works with any version.
func (e *localEngine) standby(ctx context.Context) (ownedEngine, error) {
	dir, err := makeDir()
	if err != nil {
		return nil, err
	}
	s := &localEngine{dir: dir, config: e.config}
	s.config.DataDir = filepath.Join(dir, "pg")
	s.config.Settings = append(slices.Clip(s.config.Settings), "primary_conninfo="+e.url())
	err = e.copyTo(ctx, s.config.DataDir)
	if err == nil {
		err = s.start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

func (e *localEngine) copyTo(ctx context.Context, dataDir string) error {
	if err := e.server.Stop(); err != nil {
		return err
	}
	output, err := exec.CommandContext(ctx, "cp", "-a", e.config.DataDir, dataDir).CombinedOutput() //nolint:gosec // both are ours
	if err != nil {
		return fmt.Errorf("copy the data directory: %w: %s", err, output)
	}
	if err := os.WriteFile(filepath.Join(dataDir, "standby.signal"), nil, 0o644); err != nil { //nolint:gosec // another user must read it
		return err
	}
	return e.start(ctx)
}
