package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// longestCredentials is more than any name and password; what is longer is not read.
const longestCredentials = 4096

// credentials come from the flags or their twins in the environment, or else from the file.
func (j *jobCommand) credentials() (user, password string, err error) {
	switch {
	case j.user != "" && j.password != "":
		return j.user, j.password, nil
	case j.user != "" || j.password != "":
		return "", "", errors.New("--user and --password (FENCEPOST_USER and FENCEPOST_PASSWORD) need each other")
	case j.credentialsFile != "":
		return readCredentials(j.credentialsFile)
	default:
		return "", "", errors.New("who are you? Set FENCEPOST_USER and FENCEPOST_PASSWORD, or name a --credentials-file")
	}
}

// readCredentials reads user:password from the first line of a file. It refuses one that others may read, as ssh does.
func readCredentials(path string) (user, password string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", "", fmt.Errorf("--credentials-file: %w", err)
	}
	defer file.Close()
	info, statErr := file.Stat()
	content, readErr := io.ReadAll(io.LimitReader(file, longestCredentials))
	if err := errors.Join(statErr, readErr); err != nil {
		return "", "", fmt.Errorf("--credentials-file: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", "", fmt.Errorf("--credentials-file: others can read %s: chmod 600 %s", path, path)
	}
	line, _, _ := strings.Cut(string(content), "\n")
	user, password, found := strings.Cut(strings.TrimSuffix(line, "\r"), ":")
	if !found || user == "" || password == "" {
		return "", "", fmt.Errorf("--credentials-file: the first line of %s must be user:password", path)
	}
	return user, password, nil
}
