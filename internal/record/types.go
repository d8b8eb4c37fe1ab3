package record

import (
	"slices"
	"strings"

	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
)

// Types are the words that --events takes.
var Types = []string{"ADDED", "MODIFIED", "DELETED", "SYNCED", "BOOKMARK",
	RelistedType, DisconnectedType, ReconnectedType, ErrorType, QuarantinedType}

func ParseTypes(list []string) ([]string, error) {
	var types []string
	for _, s := range list {
		t := strings.ToUpper(strings.TrimSpace(s))
		if !slices.Contains(Types, t) {
			return nil, exit.Usage("--events: unknown type %q: want some of %s", printable.Clip(s), strings.Join(Types, ","))
		}
		types = append(types, t)
	}
	return types, nil
}
