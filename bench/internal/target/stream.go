package target

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"fencepost/bench/internal/load"
	"fencepost/bench/internal/seed"
)

// Streams are subscriptions to jobs over server-sent events, a connection each.
type Streams struct {
	first     int64
	cancelled []chan time.Time
	client    *http.Client
	end       context.CancelFunc
	followers sync.WaitGroup
}

// streamBuffer keeps many thousand connections small.
const streamBuffer = 1 << 10

// OpenStreams subscribes to count jobs, from row first on, each as its owner, and returns when all have told their present state.
func OpenStreams(ctx context.Context, address string, first, count int64) (*Streams, error) {
	ctx, end := context.WithCancel(ctx)
	s := &Streams{first: first, cancelled: make([]chan time.Time, count), end: end, client: &http.Client{
		Transport: &http.Transport{ReadBufferSize: streamBuffer, WriteBufferSize: streamBuffer},
	}}
	opened := load.Closed(ctx, load.Clients, load.Bound{Ops: count}, func(_ int, number int64) error {
		return s.open(ctx, address, number)
	})
	if opened.Ops < count {
		s.Close()
		return nil, fmt.Errorf("%d of %d subscriptions were opened: %s", opened.Ops, count, opened.FirstError)
	}
	return s, nil
}

func (s *Streams) open(ctx context.Context, address string, number int64) error {
	row := s.first + number
	r := GraphQL(int(row%seed.Users), fmt.Sprintf(`subscription { jobChanged(jobRecordId: %q) { status } }`, seed.ID(row)), "{}", "")
	request, err := http.NewRequestWithContext(ctx, r.Method, "http://"+address+r.Path, strings.NewReader(r.Body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", authorizations[r.User])
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "text/event-stream")
	response, err := s.client.Do(request)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(response.Body)
	if !reaches(lines, `"status":"RUNNING"`) {
		return errors.Join(errors.New("a subscription does not tell that the job is running"), response.Body.Close())
	}
	s.cancelled[number] = make(chan time.Time, 1)
	s.followers.Go(func() {
		defer response.Body.Close()
		if reaches(lines, `"status":"CANCELLED"`) {
			s.cancelled[number] <- time.Now()
		}
	})
	return nil
}

// reaches reads up to a line that holds a text, and reports whether there is one.
func reaches(lines *bufio.Scanner, text string) bool {
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return true
		}
	}
	return false
}

// Cancelled receives the time at which the subscriber of a row sees that the job is cancelled.
func (s *Streams) Cancelled(row int64) <-chan time.Time { return s.cancelled[row-s.first] }

// Close ends all subscriptions.
func (s *Streams) Close() {
	s.end()
	s.followers.Wait()
	s.client.CloseIdleConnections()
}
