//go:build !unix

package apitest_test

import (
	"testing"
	"time"
)

var loaded = time.Now()

// spent is the time of the clock, where there is no getrusage.
func spent(*testing.B) time.Duration { return time.Since(loaded) }
