package scenario

import (
	"fmt"
	"strings"
)

// Outcome is what a scenario found.
type Outcome int

const (
	// NotExercised: the client never came to the point, such as one that does
	// not use sendInitialEvents where that is what the story is about.
	NotExercised Outcome = iota
	Pass
	Fail
)

func (o Outcome) String() string {
	return [...]string{"not exercised", "pass", "fail"}[min(max(o, 0), 2)]
}

// Verdict is the end of a scenario.
type Verdict struct {
	Scenario string
	Outcome  Outcome
	Reason   string   // why; empty for a pass
	Requests []string // what shows it, oldest first
}

// String is one line, and one more for each request.
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

// judgement ends a story before its last step.
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
