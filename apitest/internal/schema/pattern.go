package schema

import (
	"errors"
	"fmt"
	"regexp"
)

// pattern is a regular expression of a schema.
type pattern struct {
	text   string
	regexp *regexp.Regexp
}

func newPattern(text string) (*pattern, error) {
	if len(text) > 10_000 {
		return nil, errors.New("pattern: too long")
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	return &pattern{text, re}, nil
}
