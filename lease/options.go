package lease

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"time"
)

// Options of an [Elector] or a [Ring]. The zero value is the recommended setting.
type Options struct {
	// Identity names the replica in the Lease and must be unique. A replica that
	// restarts with the same identity still waits until its former Lease expires.
	// Default: the host name, "_" and a random text.
	Identity string

	// Duration is the time from the leader's last renewal until another replica may take the
	// Lease, in whole seconds. The first leader of a new Lease waits that long too; see
	// [Elector.Run]. Default 15 s.
	Duration time.Duration

	// RenewDeadline is the time from the leader's last renewal until the leader stops. The rest of
	// Duration is for its work to end. One request may take half of RenewDeadline. Default: two
	// thirds of Duration.
	RenewDeadline time.Duration

	// RetryPeriod is the time between renewals. The other replicas read the Lease
	// every 0.5 to 0.9 RetryPeriods, at random, so that one of them leads within
	// RetryPeriod of a release; after a failed request they wait 1 to 2.2
	// RetryPeriods. RenewDeadline must be more than 1.2 RetryPeriods. Default: a fifth of
	// RenewDeadline.
	RetryPeriod time.Duration

	// TakeMissing takes a missing Lease at once instead of after Duration. This risks two leaders
	// at a time: if somebody deletes the Lease while the leader cannot reach the server, that
	// leader works until its RenewDeadline, and a replica that starts in that time leads too. A
	// replica that has seen the Lease before still waits. Set it for tests, or where only
	// administrators can delete Leases. Default: wait.
	TakeMissing bool

	// Labels are added to the Lease by the replica that takes it.
	Labels map[string]string

	Trace Trace

	// Logger receives one line for each change of state: the replica that is waited
	// for and until when, leadership that begins, is lost or is released, requests
	// that start to fail and that succeed again. Each failed request is logged at
	// level Debug. Default: the Logger of the Manager that runs the elector
	// or the ring.
	Logger *slog.Logger
}

// Trace is a set of hooks; each may be nil. The hooks are called one at a time and must not block,
// because a renewal may wait for them.
type Trace struct {
	// Leader is called when another holder is seen in the Lease; "" = none. A Ring does not
	// call it.
	Leader func(identity string)
	// Renewed is called after each renewal, with the time it took.
	Renewed func(took time.Duration)
	// Failed is called when the Lease could not be read, taken, renewed or released.
	// Losing a race against another replica is not a failure.
	Failed func(error)
}

// jitter is the largest part of RetryPeriod that a replica adds to a pause after a failure.
const jitter = 1.2

// A waiting replica reads the Lease every lookAfter to lookAfter plus lookJitter
// RetryPeriods: less than one, because reading and taking take time too.
const (
	lookAfter  = 0.5
	lookJitter = 0.4
)

// defaults returns the options with defaults set, or an error for invalid ones.
func (o Options) defaults() (Options, error) {
	if o.Duration == 0 {
		o.Duration = 15 * time.Second
	}
	if o.RenewDeadline == 0 {
		o.RenewDeadline = o.Duration * 2 / 3
	}
	if o.RetryPeriod == 0 {
		o.RetryPeriod = o.RenewDeadline / 5
	}
	if o.Identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return o, fmt.Errorf("Options.Identity is empty and the host name is unknown: %w", err)
		}
		o.Identity = host + "_" + rand.Text()
	}
	switch {
	case o.Duration < time.Second || o.Duration%time.Second != 0 || o.Duration/time.Second > math.MaxInt32:
		return o, fmt.Errorf("the duration is %v: want whole seconds, as the API stores it", o.Duration)
	case o.RenewDeadline >= o.Duration:
		return o, fmt.Errorf("the renew deadline, %v, must be less than the duration, %v: the difference is the time to stop", o.RenewDeadline, o.Duration)
	case o.RetryPeriod <= 0:
		return o, errors.New("the retry period must be more than 0")
	case float64(o.RenewDeadline) <= jitter*float64(o.RetryPeriod):
		return o, fmt.Errorf("the renew deadline, %v, must be more than %v times the retry period, %v", o.RenewDeadline, jitter, o.RetryPeriod)
	}
	return o, nil
}
