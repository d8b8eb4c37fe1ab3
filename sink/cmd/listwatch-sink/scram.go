package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/sasl"
)

// maxIterations limits the rounds of SCRAM (RFC 5802) that a broker asks for, which take part of a
// second. Kafka's brokers have 4,096 to 16,384.
const maxIterations = 1_000_000

// bounded is SCRAM whose computation ends: package scram takes any number, and has no context.
type bounded struct{ sasl.Mechanism }

// Authenticate implements sasl.Mechanism.
func (m bounded) Authenticate(ctx context.Context, host string) (sasl.Session, []byte, error) {
	s, first, err := m.Mechanism.Authenticate(ctx, host)
	return boundedSession{s}, first, err
}

type boundedSession struct{ sasl.Session }

// Challenge implements sasl.Session.
func (s boundedSession) Challenge(message []byte) (bool, []byte, error) {
	for part := range strings.SplitSeq(string(message), ",") {
		text, ok := strings.CutPrefix(part, "i=")
		if n, err := strconv.Atoi(text); ok && (err != nil || n > maxIterations) {
			return false, nil, fmt.Errorf("the broker asks for more than %d iterations of SCRAM", maxIterations)
		}
	}
	return s.Session.Challenge(message)
}
