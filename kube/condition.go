package kube

import (
	"slices"
	"time"
)

// ConditionStatus is the status of a [Condition].
type ConditionStatus string

// The statuses of conditions.
const (
	ConditionTrue    ConditionStatus = "True"
	ConditionFalse   ConditionStatus = "False"
	ConditionUnknown ConditionStatus = "Unknown"
)

// Condition is one aspect of the observed state of an object. It has the JSON of
// metav1.Condition. See
// https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties.
type Condition struct {
	Type               string          `json:"type"` // such as Ready; an object has one condition of a type
	Status             ConditionStatus `json:"status"`
	ObservedGeneration int64           `json:"observedGeneration,omitempty"` // of the object
	LastTransitionTime time.Time       `json:"lastTransitionTime"`           // when Status changed last
	Reason             string          `json:"reason"`                       // in CamelCase, for programs
	Message            string          `json:"message"`                      // for people
}

// ConditionOf returns the condition of a type; false if there is none.
func ConditionOf(conditions []Condition, conditionType string) (Condition, bool) {
	i := slices.IndexFunc(conditions, func(c Condition) bool { return c.Type == conditionType })
	if i < 0 {
		return Condition{}, false
	}
	return conditions[i], true
}

// SetCondition returns conditions with c instead of the condition of its type, or with c
// appended. If the previous condition has the same status, its LastTransitionTime is
// kept. Otherwise LastTransitionTime is that of c, or, if c has none, the current time in
// whole seconds. The given slice is not modified: it may be part of an object that a
// cache shares.
func SetCondition(conditions []Condition, c Condition) []Condition {
	i := slices.IndexFunc(conditions, func(o Condition) bool { return o.Type == c.Type })
	switch {
	case i >= 0 && conditions[i].Status == c.Status:
		c.LastTransitionTime = conditions[i].LastTransitionTime
	case c.LastTransitionTime.IsZero():
		c.LastTransitionTime = time.Now().UTC().Truncate(time.Second)
	}
	conditions = slices.Clone(conditions)
	if i < 0 {
		return append(conditions, c)
	}
	conditions[i] = c
	return conditions
}
