package queue

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Backoff sets how long AddRateLimited delays a key: by a delay of its own, which doubles
// with each rate-limited add of the key until Forget, and by a limit for all keys together.
// The longer delay counts. The zero value is the recommended setting.
type Backoff struct {
	Base time.Duration // first delay of a key; default 5 ms
	Max  time.Duration // longest delay of a key; default 1000 s

	// QPS and Burst limit all keys together, in retries per second. Default 10 and 100.
	// A negative QPS is no limit.
	QPS   float64
	Burst int
}

// newLimiter returns a limiter without failures.
func newLimiter[K comparable](o Backoff) *limiter[K] {
	l := &limiter[K]{base: o.Base, max: o.Max, failures: make(map[K]int)}
	if l.base <= 0 {
		l.base = 5 * time.Millisecond
	}
	if l.max <= 0 {
		l.max = 1000 * time.Second
	}
	qps, burst := o.QPS, o.Burst
	if qps == 0 {
		qps = 10
	}
	if burst <= 0 {
		burst = 100
	}
	if qps > 0 {
		l.bucket = rate.NewLimiter(rate.Limit(qps), burst)
	}
	return l
}

// limiter counts the failures of each key. It is safe for concurrent use.
type limiter[K comparable] struct {
	base, max time.Duration
	bucket    *rate.Limiter // nil = no limit

	mu       sync.Mutex
	failures map[K]int
}

// When returns the next delay of k, and counts a failure.
func (l *limiter[K]) When(k K) time.Duration {
	n := l.fail(k)
	d := l.max
	if n < 63 && l.base <= l.max>>n {
		d = l.base << n
	}
	if l.bucket != nil {
		d = max(d, l.bucket.Reserve().Delay())
	}
	return d
}

// fail counts a failure of k, and returns how many there were before. A key that cannot be
// hashed panics, here and in Forget.
func (l *limiter[K]) fail(k K) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.failures[k]
	l.failures[k] = n + 1
	return n
}

// Forget resets the count of k.
func (l *limiter[K]) Forget(k K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.failures, k)
}

// NumRequeues returns how often When was called for k since the last Forget.
func (l *limiter[K]) NumRequeues(k K) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failures[k]
}
