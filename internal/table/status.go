package table

import (
	"encoding/json"
	"strings"

	"github.com/listwatch/listwatch/codec"
)

// Status says how an object is of which the server sent no cells.
func Status(o codec.Raw) string {
	if phase, ok := o.Text("status", "phase"); ok {
		return phase
	}
	var s struct {
		Status struct {
			Conditions []struct{ Type, Status, Reason string }
		}
	}
	// What does not fit says nothing.
	_ = json.Unmarshal([]byte(o.JSON()), &s)
	for _, c := range s.Status.Conditions {
		if c.Type == "Ready" || c.Type == "Available" {
			if c.Status == "True" {
				return c.Type
			}
			return "Not " + strings.ToLower(c.Type) + " " + c.Reason
		}
	}
	return ""
}
