package scenario

import (
	"fmt"
	"strings"
)

// Outcome is the result of a scenario.
type Outcome int

const (
	// NotExercised: the client did not send the requests that the scenario is about,
	// for instance because it does not use sendInitialEvents.
	NotExercised Outcome = iota
	Pass
	Fail
)

func (o Outcome) String() string {
	return [...]string{"not exercised", "pass", "fail"}[min(max(o, 0), 2)]
}

// Verdict is the result of a run.
type Verdict struct {
	Scenario string
	Outcome  Outcome
	Reason   string   // the reason; empty for a pass
	Requests []string // the relevant requests, oldest first
}

// String returns one line, and one more for each request.
func (v Verdict) String() string {
	s := fmt.Sprintf("%s: %s", v.Scenario, v.Outcome)
	if v.Reason != "" {
		s += ": " + v.Reason
	}
	if len(v.Requests) > 0 {
		s += "\n    " + strings.Join(v.Requests, "\n    ")
	}
	return s
}

// judgement ends a scenario before its last step.
type judgement struct {
	outcome Outcome
	reason  string
}

func (j *judgement) Error() string { return j.reason }

func failed(format string, args ...any) error {
	return &judgement{Fail, fmt.Sprintf(format, args...)}
}

func notExercised(format string, args ...any) error {
	return &judgement{NotExercised, fmt.Sprintf(format, args...)}
}
