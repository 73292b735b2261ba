package worker

import (
	"math/rand/v2"
	"time"
)

// maxRetryDelay bounds the exponential backoff.
const maxRetryDelay = 15 * time.Minute

// backoff is the longest delay after a number of attempts: the base, doubled for each attempt after the first.
func backoff(base time.Duration, attempts int) time.Duration {
	delay := base
	for range attempts - 1 {
		if delay >= maxRetryDelay {
			break
		}
		delay *= 2
	}
	return min(delay, maxRetryDelay)
}

// jitter picks a delay between half of the longest one and all of it, so that jobs that failed together don't come back
// together.
func jitter(longest time.Duration) time.Duration {
	half := longest / 2
	return half + rand.N(longest-half+1) //nolint:gosec // nobody gains by guessing it
}
