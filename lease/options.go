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

// Options say how a replica takes part. The zero value is the recommended setting.
type Options struct {
	// Identity names the replica in the Lease. No two replicas may have the same;
	// one that starts again with the same waits for its former lease to run out as
	// for anybody's. Default: the host's name, "_" and something random.
	Identity string

	// Duration is how long after the leader's last renewal another may take its
	// place, in whole seconds. It is also how long the first leader ever waits: see
	// [Elector.Run]. Default 15 s.
	Duration time.Duration

	// RenewDeadline is how long after its last renewal the leader stops; what is
	// left of Duration is the time that its work has to end. One request may take
	// half of it. Default: two thirds of Duration.
	RenewDeadline time.Duration

	// RetryPeriod is the time between renewals. The other replicas read the Lease
	// after 0.5 to 0.9 times as long, by chance, so that one of them leads within
	// RetryPeriod of its release; after a request that failed they wait 1 to 2.2
	// times as long. Default: a fifth of RenewDeadline, which must be more than 1.2
	// times RetryPeriod.
	RetryPeriod time.Duration

	// TakeMissing takes a Lease that does not exist at once, rather than after
	// Duration. The risk is two leaders at a time: if somebody deletes the Lease
	// while the leader cannot reach the server, that leader acts until its
	// RenewDeadline, and a replica that starts in that time leads beside it. A
	// replica that has seen the Lease before waits all the same. Set it for tests,
	// or where nobody but a cluster's administrator can delete Leases. Default: wait.
	TakeMissing bool

	// Labels are given to the Lease, besides those it has, by whoever takes it.
	Labels map[string]string

	Trace Trace

	// Logger gets a line for each change of state, and none for a retry: which
	// replica is waited for and until when, leadership that begins, is lost and is
	// released, requests that are refused or fail, and that they succeed again.
	// Each request that fails is logged at level Debug. Default: that of the
	// Manager that runs the elector.
	Logger *slog.Logger
}

// Trace is a set of hooks, each of which may be nil. They are called one at a time
// and should not block: a renewal may wait for them.
type Trace struct {
	// Leader is called when another holder is seen in the Lease; "" = none.
	Leader func(identity string)
	// Renewed is called after each renewal, with the time it took.
	Renewed func(took time.Duration)
	// Failed is called when the Lease could not be read, taken, renewed or released.
	// That another was faster is no failure.
	Failed func(error)
}

// jitter is how much of RetryPeriod a replica adds at most to its pauses after
// failures.
const jitter = 1.2

// Between two looks at a Lease that is another's passes lookAfter of RetryPeriod, and
// at most lookJitter more: less than all of it, since reading and taking take time too.
const (
	lookAfter  = 0.5
	lookJitter = 0.4
)

// defaults returns the options with what is missing, and what is wrong with them.
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
			return o, fmt.Errorf("no identity is given, and the host's name is not known: %w", err)
		}
		o.Identity = host + "_" + rand.Text()
	}
	switch {
	case o.Duration < time.Second || o.Duration%time.Second != 0 || o.Duration/time.Second > math.MaxInt32:
		return o, fmt.Errorf("the duration is %v: want whole seconds, which is what a Lease holds", o.Duration)
	case o.RenewDeadline >= o.Duration:
		return o, fmt.Errorf("the renew deadline, %v, must be less than the duration, %v: what is between is the time to stop in", o.RenewDeadline, o.Duration)
	case o.RetryPeriod <= 0:
		return o, errors.New("the retry period must be more than 0")
	case float64(o.RenewDeadline) <= jitter*float64(o.RetryPeriod):
		return o, fmt.Errorf("the renew deadline, %v, must be more than %v times the retry period, %v", o.RenewDeadline, jitter, o.RetryPeriod)
	}
	return o, nil
}
