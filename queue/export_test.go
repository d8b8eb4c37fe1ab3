package queue

// NewLimiter returns what a queue limits its keys with.
func NewLimiter[K comparable](b Backoff) *limiter[K] { return newLimiter[K](b) }
