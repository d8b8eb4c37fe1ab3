package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/listwatch/listwatch/internal/yamljson"
)

var (
	yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:unmarshal errors:\s*)?line (\d+): `)
	yamlType = regexp.MustCompile(`^cannot unmarshal !!(str|int|float|bool|null|map|seq|timestamp|binary)\b`)
	yamlInto = regexp.MustCompile(` into ([\w.\[\]*]+)$`)
)

// scrub replaces an error of the YAML parser, which may quote values and anchors, by one
// with the line and the kind of error only.
func scrub(err error) error {
	var own *yamljson.Error
	if errors.As(err, &own) {
		return err
	}
	var te *yaml.TypeError
	if errors.As(err, &te) && len(te.Errors) > 0 {
		return errors.New(scrubText(te.Errors[0]))
	}
	return errors.New(scrubText(err.Error()))
}

func scrubText(s string) string {
	line := ""
	if m := yamlLine.FindStringSubmatch(s); m != nil {
		line, s = "line "+m[1]+": ", s[len(m[0]):]
	}
	s = strings.TrimPrefix(s, "yaml: ")
	found, into := yamlType.FindStringSubmatch(s), yamlInto.FindStringSubmatch(s)
	switch {
	case found != nil && into != nil:
		return fmt.Sprintf("%swant %s, found %s", line, wanted(into[1]), yamlWords[found[1]])
	case strings.HasPrefix(s, "unknown anchor "):
		return line + "an alias (*name) without its anchor; quote a value that begins with *"
	case constantText(s):
		return line + "not valid YAML: " + s
	}
	return line + "not valid YAML"
}

// constantText reports whether s is a constant message of the scanner or parser.
func constantText(s string) bool {
	return slices.ContainsFunc([]string{
		"did not find ", "could not find ", "found character ", "found unexpected ", "found unknown escape ",
		"found a tab ", "found undefined ", "mapping values are ", "mapping keys are ", "block sequence ",
		"control characters ", "document contains excessive aliasing", "exceeded max depth ",
		"invalid leading UTF-8", "invalid trailing UTF-8", "incomplete UTF-8",
	}, func(prefix string) bool { return strings.HasPrefix(s, prefix) })
}

var yamlWords = map[string]string{
	"str": "a string", "int": "a number", "float": "a number", "bool": "true or false", "null": "nothing",
	"map": "a mapping", "seq": "a list", "timestamp": "a date", "binary": "binary data",
}

// wanted returns YAML's name of a Go type.
func wanted(goType string) string {
	switch {
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	case goType == "string":
		return "a string"
	case goType == "bool":
		return "true or false"
	}
	return "a mapping"
}

// quote returns a name from a file, quoted and limited in length.
func quote(s string) string {
	const most = 200
	if len(s) > most {
		s = s[:most] + "..."
	}
	return strconv.Quote(s)
}
