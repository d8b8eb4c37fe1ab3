package schema

import (
	"encoding/base64"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// knownFormat returns the format of n, without dashes, if kube-apiserver checks it
// for the type of n.
func (n *node) knownFormat() string {
	typ := ""
	if len(n.types) > 0 {
		typ = n.types[0]
	}
	switch format := strings.ReplaceAll(n.format, "-", ""); {
	case typ == "integer" && (format == "int32" || format == "int64"),
		typ == "number" && (format == "float" || format == "double"),
		(typ == "" || typ == "string") && slices.Contains(textFormats(), format):
		return format
	}
	return ""
}

// textFormats are those that validFormat checks.
func textFormats() []string {
	return []string{"uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid", "uuid3", "uuid4", "uuid5",
		"hexcolor", "byte", "password", "date", "duration", "datetime"}
}

// validFormat reports whether text is of a format of textFormats.
func validFormat(format, text string) bool {
	ok := false
	switch format {
	case "uri":
		_, err := url.ParseRequestURI(text)
		ok = err == nil
	case "email":
		a, err := mail.ParseAddress(text)
		ok = err == nil && a.Address != ""
	case "hostname":
		ok = validHostname(text)
	case "ipv4":
		a, err := netip.ParseAddr(text)
		ok = err == nil && a.Is4()
	case "ipv6":
		a, err := netip.ParseAddr(text)
		ok = err == nil && a.Is6()
	case "cidr":
		_, _, err := net.ParseCIDR(text)
		ok = err == nil
	case "mac":
		_, err := net.ParseMAC(text)
		ok = err == nil
	case "uuid", "uuid3", "uuid4", "uuid5":
		ok = validUUID(text, strings.TrimPrefix(format, "uuid"))
	case "hexcolor":
		ok = matches(`^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$`, text)
	case "byte":
		_, err := base64.StdEncoding.DecodeString(text)
		ok = err == nil && text != ""
	case "password":
		ok = true
	case "date":
		_, err := time.Parse(time.DateOnly, text)
		ok = err == nil
	case "duration":
		ok = validDuration(text)
	case "datetime":
		_, err := time.Parse(time.RFC3339, strings.ToUpper(text))
		ok = err == nil
	}
	return ok
}

func matches(pattern, text string) bool {
	ok, err := regexp.MatchString(pattern, text)
	return ok && err == nil
}

func validHostname(text string) bool {
	if len(text) > 255 || !matches(`^[a-zA-Z0-9\p{S}\p{L}]([-.a-zA-Z0-9\p{S}\p{L}]*[a-zA-Z0-9\p{S}\p{L}])?$`, text) {
		return false
	}
	parts := strings.Split(text, ".")
	for _, p := range parts {
		if p == "" || len(p) > 63 || p[0] == '-' || p[len(p)-1] == '-' {
			return false
		}
	}
	return len(parts) == 1 || matches(`^[a-zA-Z\p{L}]{2,63}$`, parts[len(parts)-1])
}

// validUUID takes dashes for optional, one by one.
func validUUID(text, version string) bool {
	third, fourth := `[0-9a-f]{4}`, `[0-9a-f]{4}`
	if version != "" {
		third = version + `[0-9a-f]{3}`
	}
	if version == "4" || version == "5" {
		fourth = `[89ab][0-9a-f]{3}`
	}
	return matches(`(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?`+third+`-?`+fourth+`-?[0-9a-f]{12}$`, text)
}

// validDuration takes Go's durations and "3 days".
func validDuration(text string) bool {
	if _, err := time.ParseDuration(text); err == nil {
		return true
	}
	return matches(`^\s*((\d+)\s*([A-Za-zµ]+)\s*)+$`, text) &&
		!slices.ContainsFunc(regexp.MustCompile(`[A-Za-zµ]+`).FindAllString(text, -1), func(unit string) bool {
			units := []string{"ns", "nano", "us", "µs", "micro", "ms", "milli", "s", "sec", "second", "m", "min", "minute", "h", "hr", "hour", "d", "day", "w", "wk", "week"}
			return !slices.Contains(units, unit) && !slices.Contains(units, strings.TrimSuffix(unit, "s"))
		})
}
