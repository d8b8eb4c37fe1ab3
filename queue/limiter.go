package queue

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Backoff says how long AddRateLimited lets a key wait: for a delay of its own, which
// doubles with every failure until Forget, and for the limit of all keys together. The
// longer of the two counts. The zero value is good.
type Backoff struct {
	Base time.Duration // a key's first delay; default 5 ms
	Max  time.Duration // its longest; default 1000 s

	// QPS and Burst limit all keys together, in retries a second. Default 10 and
	// 100. A negative QPS is no limit.
	QPS   float64
	Burst int
}

// newLimiter returns a limiter in which no key has failed.
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

// limiter counts the failures of each key. Its methods may be called at the same time.
type limiter[K comparable] struct {
	base, max time.Duration
	bucket    *rate.Limiter // nil = no limit

	mu       sync.Mutex
	failures map[K]int
}

// When returns the next delay of k, and counts a failure.
func (l *limiter[K]) When(k K) time.Duration {
	l.mu.Lock()
	n := l.failures[k]
	l.failures[k] = n + 1
	l.mu.Unlock()
	d := l.max
	if n < 63 && l.base <= l.max>>n {
		d = l.base << n
	}
	if l.bucket != nil {
		d = max(d, l.bucket.Reserve().Delay())
	}
	return d
}

// Forget begins the count of k from 0.
func (l *limiter[K]) Forget(k K) {
	l.mu.Lock()
	delete(l.failures, k)
	l.mu.Unlock()
}

// NumRequeues returns how often When was called for k since the last Forget.
func (l *limiter[K]) NumRequeues(k K) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failures[k]
}
