package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

// healthTimeout is how long a process may take to say how it is.
const healthTimeout = 5 * time.Second

// newHealthCommand is for images that hold nothing but this program, and so no other that could ask.
func newHealthCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "health [URL]",
		Short: "Ask a running process whether it is ready",
		Long: `Ask a running process whether it is ready, as the health check of a container. The URL is by default
http://127.0.0.1:8080/readyz. Anything but the answer 200 within 5 seconds is an error.`,
		Example: `  fencepost health
  fencepost health http://127.0.0.1:9091/livez    # of "fencepost work"`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			url := append(args, "http://127.0.0.1:8080/readyz")[0]
			return askHealth(cmd.Context(), url)
		},
	}
}

func askHealth(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("not healthy: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		err = fmt.Errorf("not healthy: the answer is %s", response.Status)
	}
	return errors.Join(err, response.Body.Close())
}
