package events

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/listwatch/listwatch/internal/clip"
	"github.com/listwatch/listwatch/kube"
)

// Type is the severity of an Event.
type Type string

// The types of Events.
const (
	Normal  Type = "Normal"
	Warning Type = "Warning"
)

// event is an Event of the core group as it is sent. Its times are text in whole
// seconds; they are never read.
type event struct {
	kube.Meta `json:"metadata"`

	InvolvedObject      Reference `json:"involvedObject"`
	Type                Type      `json:"type"`
	Reason              string    `json:"reason"`
	Message             string    `json:"message"`
	Count               int32     `json:"count"`
	FirstTimestamp      string    `json:"firstTimestamp"`
	LastTimestamp       string    `json:"lastTimestamp"`
	Source              source    `json:"source"`
	ReportingController string    `json:"reportingComponent"` // its name in Go and in events.k8s.io
	ReportingInstance   string    `json:"reportingInstance"`
}

type source struct {
	Component string `json:"component,omitempty"`
	Host      string `json:"host,omitempty"`
}

// repetition is the patch of an Event that happened again.
type repetition struct {
	Count         int32  `json:"count"`
	LastTimestamp string `json:"lastTimestamp"`
	Message       string `json:"message,omitempty"` // only if it changed
}

// Limits of the API.
const (
	maxName    = 253
	maxReason  = 128
	maxMessage = 1024
)

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func count(n int) int32 { return int32(min(n, math.MaxInt32)) }

// shorten returns at most n bytes of s as valid UTF-8.
func shorten(s string, n int) string {
	if s = strings.ToValidUTF8(s, "?"); len(s) <= n {
		return s
	}
	return clip.Text(s, n-len("..."))
}

// nameOf returns the name of an Event: the valid part of the object's name, and the
// time, which makes it unique.
func nameOf(object string, nanos int64) string {
	suffix := "." + strconv.FormatInt(nanos, 16)
	var name strings.Builder
	for label := range strings.SplitSeq(strings.ToLower(object), ".") {
		label = strings.Map(func(r rune) rune {
			if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
				return r
			}
			return '-' // names of RBAC objects may have more, such as system:node
		}, label)
		if label = strings.Trim(label, "-"); label == "" {
			continue
		}
		if name.Len() > 0 {
			name.WriteByte('.')
		}
		name.WriteString(label)
	}
	s := name.String()
	s = strings.TrimRight(s[:min(len(s), maxName-len(suffix))], "-.")
	if s == "" {
		s = "event"
	}
	return s + suffix
}
