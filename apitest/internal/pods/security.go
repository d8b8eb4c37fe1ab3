package pods

import (
	"math"
	"regexp"

	"github.com/listwatch/listwatch/apitest/internal/rules"
)

// refuseSecurity validates the security context of a pod.
func refuseSecurity(r *rules.Refusals, path string, c map[string]any) {
	for _, name := range [...]string{"runAsUser", "runAsGroup", "fsGroup"} {
		r.Between(path, c, name, 0, math.MaxInt32)
	}
	for i, e := range rules.ListAt(c, "supplementalGroups") {
		if n, ok := e.(int64); ok && (n < 0 || n > math.MaxInt32) {
			r.Invalid(indexed(path+".supplementalGroups", i), n, "must be between 0 and 2147483647, inclusive")
		}
	}
	seen := map[string]bool{}
	for at, s := range rules.Elements(path, c, "sysctls") {
		switch name := rules.TextAt(s, "name"); {
		case name == "":
			r.Required(at + ".name")
		case len(name) > 253 || !sysctlName.MatchString(name):
			r.Invalid(at+".name", name, "must have at most 253 characters and match regex "+sysctlName.String())
		case seen[name]:
			r.Duplicate(at+".name", name)
		default:
			seen[name] = true
		}
	}
	if s, ok := c["fsGroupChangePolicy"].(string); ok && s != "OnRootMismatch" && s != "Always" {
		r.Unsupported(path+".fsGroupChangePolicy", s, "Always", "OnRootMismatch")
	}
	refuseSeccomp(r, path+".seccompProfile", rules.ObjectAt(c, "seccompProfile"))
}

var sysctlName = regexp.MustCompile(`^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`)

// refuseContainerSecurity validates the security context of a container.
func refuseContainerSecurity(r *rules.Refusals, path string, c map[string]any) {
	for _, name := range [...]string{"runAsUser", "runAsGroup"} {
		r.Between(path, c, name, 0, math.MaxInt32)
	}
	if s, ok := c["procMount"].(string); ok && s != "Default" && s != "Unmasked" {
		r.Unsupported(path+".procMount", s, "Default", "Unmasked")
	}
	if c["allowPrivilegeEscalation"] == false && c["privileged"] == true {
		r.Invalid(path, c, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true")
	}
	refuseSeccomp(r, path+".seccompProfile", rules.ObjectAt(c, "seccompProfile"))
}

func refuseSeccomp(r *rules.Refusals, path string, p map[string]any) {
	if p == nil {
		return
	}
	r.Chosen(path, p, "type", "Localhost", "RuntimeDefault", "Unconfined")
	file, some := p["localhostProfile"].(string)
	switch local := rules.TextAt(p, "type") == "Localhost"; {
	case local && !some:
		r.Required(path+".localhostProfile", "must be set when seccomp type is Localhost")
	case local:
		r.LocalPath(path+".localhostProfile", file)
	case some:
		r.Invalid(path+".localhostProfile", file, "can only be set when seccomp type is Localhost")
	}
}
