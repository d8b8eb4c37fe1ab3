package queue

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limiter says how long a key that failed waits before its next run. Its methods
// may be called at the same time.
type Limiter[K comparable] interface {
	When(k K) time.Duration // the next delay, which counts as a failure
	Forget(k K)             // all is well again
	NumRequeues(k K) int    // how often When was called since the last Forget
}

// LimiterOptions are the settings of NewLimiter; the zero value is good.
type LimiterOptions struct {
	Base time.Duration // a key's first delay, which doubles each time; default 5 ms
	Max  time.Duration // its longest; default 1000 s

	// QPS and Burst limit all keys together, in retries a second. Default 10 and
	// 100. A negative QPS is no limit.
	QPS   float64
	Burst int
}

// NewLimiter returns a limiter with a delay for each key that doubles with every
// failure, and a token bucket for all keys together: the longer of the two counts.
func NewLimiter[K comparable](o LimiterOptions) Limiter[K] {
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

type limiter[K comparable] struct {
	base, max time.Duration
	bucket    *rate.Limiter // nil = no limit

	mu       sync.Mutex
	failures map[K]int
}

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

func (l *limiter[K]) Forget(k K) {
	l.mu.Lock()
	delete(l.failures, k)
	l.mu.Unlock()
}

func (l *limiter[K]) NumRequeues(k K) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failures[k]
}
