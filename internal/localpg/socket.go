package localpg

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxSocketPath is the longest path of a Unix socket that every supported system takes (macOS: 104 bytes with the
// final zero; Linux: 108).
const maxSocketPath = 103

// socketDir is a directory with mode 0700 for the server's socket.
type socketDir struct {
	path      string
	temporary bool
}

// makeSocketDir takes the data directory itself, or a new temporary directory when that path is too long or holds a
// comma, which separates hosts in a connection string.
func makeSocketDir(dataDir string, a account) (socketDir, error) {
	socket := filepath.Join(dataDir, ".s.PGSQL."+port)
	if len(socket) <= maxSocketPath && !strings.Contains(socket, ",") {
		return socketDir{path: dataDir}, nil
	}
	path, err := os.MkdirTemp("", "fencepost-")
	if err == nil {
		err = a.ownPath(path)
	}
	if err != nil {
		return socketDir{}, fmt.Errorf("socket directory: %w", err)
	}
	return socketDir{path: path, temporary: true}, nil
}

// remove takes a temporary directory away, once PostgreSQL has removed its socket or died.
func (d socketDir) remove() {
	if d.temporary {
		_ = os.RemoveAll(d.path) // nothing but a leftover in the system's temporary directory
	}
}
