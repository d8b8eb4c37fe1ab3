package kinds

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// Strategy is what kube-apiserver does with a resource of its own otherwise than
// with most.
type Strategy struct {
	Upserts bool                       // a PUT where there is nothing creates
	Guarded bool                       // an update must name the revision
	Orphans bool                       // a DELETE that says nothing of dependents leaves them
	Plain   bool                       // dependents do not matter to a DELETE
	name    func(name string) []string // what is wrong with a name; nil = subdomain
	counts  bool                       // generation counts, though there is no spec
	hosts   string                     // what its name becomes: a warning, where it is no label
}

// podNames is what becomes of the names of what makes pods.
const podNames = "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: "

var strategies = map[string]Strategy{
	"services":               {Upserts: true, name: labelName},
	"endpoints":              {Upserts: true},
	"events":                 {Upserts: true, Plain: true, name: SegmentName},
	"events.events.k8s.io":   {Upserts: true, Plain: true, name: SegmentName},
	"limitranges":            {Upserts: true},
	"namespaces":             {name: labelName},
	"podtemplates":           {counts: true},
	"pods":                   {hosts: "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: "},
	"replicationcontrollers": {Orphans: true, hosts: podNames},
	"deployments.apps":       {hosts: podNames},
	"replicasets.apps":       {hosts: podNames},
	"statefulsets.apps":      {name: labelName},
	"jobs.batch":             {Orphans: true, hosts: podNames},
	"cronjobs.batch":         {hosts: podNames, name: cronJobName},

	"leases.coordination.k8s.io":                    {Upserts: true, Guarded: true},
	"endpointslices.discovery.k8s.io":               {counts: true},
	"poddisruptionbudgets.policy":                   {Guarded: true, name: SegmentName},
	"roles.rbac.authorization.k8s.io":               {Upserts: true, name: SegmentName},
	"rolebindings.rbac.authorization.k8s.io":        {Upserts: true, name: SegmentName},
	"clusterroles.rbac.authorization.k8s.io":        {Upserts: true, name: SegmentName},
	"clusterrolebindings.rbac.authorization.k8s.io": {Upserts: true, name: SegmentName},
	"priorityclasses.scheduling.k8s.io":             {counts: true},

	"mutatingwebhookconfigurations.admissionregistration.k8s.io":   {Guarded: true, counts: true},
	"validatingwebhookconfigurations.admissionregistration.k8s.io": {Guarded: true, counts: true},

	"mutatingadmissionpolicies.admissionregistration.k8s.io":         {Guarded: true},
	"mutatingadmissionpolicybindings.admissionregistration.k8s.io":   {Guarded: true},
	"validatingadmissionpolicies.admissionregistration.k8s.io":       {Guarded: true},
	"validatingadmissionpolicybindings.admissionregistration.k8s.io": {Guarded: true},

	"certificatesigningrequests.certificates.k8s.io":   {name: SegmentName},
	"clustertrustbundles.certificates.k8s.io":          {Guarded: true, name: bundleName},
	"podcertificaterequests.certificates.k8s.io":       {Guarded: true},
	"csidrivers.storage.k8s.io":                        {Guarded: true},
	"csinodes.storage.k8s.io":                          {Guarded: true},
	"csistoragecapacities.storage.k8s.io":              {Guarded: true},
	"volumeattachments.storage.k8s.io":                 {Guarded: true},
	"ipaddresses.networking.k8s.io":                    {name: addressName},
	"runtimeclasses.node.k8s.io":                       {Upserts: true, Guarded: true},
	"devicetaintrules.resource.k8s.io":                 {Guarded: true},
	"storageversionmigrations.storagemigration.k8s.io": {Guarded: true},
}

// StrategyOf returns what is special about writes of r.
func StrategyOf(r *object.Info) Strategy {
	if !r.BuiltIn {
		return Strategy{Guarded: true}
	}
	return strategies[r.GroupResource()]
}

// MovesGeneration reports whether an update from old to o counts as a new generation.
func MovesGeneration(r *object.Info, old, o *object.Object) bool {
	switch {
	case r.Plural == "priorityclasses":
		return false
	case r.Resource == kube.EndpointSlices && !bytes.Equal(object.Marshal(old.Meta.Labels), object.Marshal(o.Meta.Labels)):
		return true
	case r.Resource == kube.EndpointSlices:
		kept := *o
		NullLists(&kept, "endpoints", "ports")
		o = &kept
	}
	return !o.SameFields(old, func(name string) bool { return name != "status" })
}

// NameCauses says what is wrong with the name of a new object, and with what it
// was made of.
func NameCauses(r *object.Info, m *object.Meta) (causes []kube.StatusCause) {
	check := StrategyOf(r).name
	if check == nil {
		check = subdomain
	}
	add := func(field, is string, wrong []string) {
		for _, text := range wrong {
			causes = append(causes, kube.StatusCause{Reason: "FieldValueInvalid", Message: fmt.Sprintf("Invalid value: %q: %s", is, text), Field: field})
		}
	}
	if base := m.GenerateName; base != "" {
		whole := base
		if len(base) > 1 && strings.HasSuffix(base, "-") {
			whole = base[:len(base)-2] + "a" // a name may not end in "-", its beginning may
		}
		add("metadata.generateName", base, check(whole))
	}
	if m.Name == "" {
		return append(causes, kube.StatusCause{Reason: "FieldValueRequired", Message: "Required value: name or generateName is required", Field: "metadata.name"})
	}
	add("metadata.name", m.Name, check(m.Name))
	return causes
}

// subdomain says what is wrong with a name of labels and dots.
func subdomain(s string) (wrong []string) {
	if len(s) > 253 {
		wrong = append(wrong, tooLong(253, "characters"))
	}
	for part := range strings.SplitSeq(s, ".") {
		if part == "" || part[0] == '-' || part[len(part)-1] == '-' ||
			strings.IndexFunc(part, func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' }) >= 0 {
			return append(wrong, nameRule)
		}
	}
	return wrong
}

const nameRule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', " +
	"and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
	`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`

// SegmentName says what is wrong with a name that need only fit into a URL.
func SegmentName(s string) (wrong []string) {
	if s == "." || s == ".." {
		return []string{"may not be '" + s + "'"}
	}
	for _, c := range [...]string{"/", "%"} {
		if strings.Contains(s, c) {
			wrong = append(wrong, "may not contain '"+c+"'")
		}
	}
	return wrong
}

// bundleName says what is wrong with the name of a ClusterTrustBundle: one of a
// signer begins with the signer's, with colons for slashes.
func bundleName(s string) (wrong []string) {
	for part := range strings.SplitSeq(s, ":") {
		if wrong = subdomain(part); len(wrong) > 0 {
			return wrong
		}
	}
	return nil
}

// addressName says what is wrong with the name of an IPAddress, which is the address.
func addressName(s string) []string {
	a, err := netip.ParseAddr(s)
	switch {
	case err != nil || a.Zone() != "":
		return []string{"must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"}
	case a.String() != s:
		return []string{"must be in canonical form (" + strconv.Quote(a.String()) + ")"}
	}
	return nil
}

// cronJobName leaves room for the time that the names of its Jobs have.
func cronJobName(s string) []string {
	wrong := subdomain(s)
	if len(s) > 52 {
		wrong = append(wrong, tooLong(52, "characters"))
	}
	return wrong
}

// FinalizerWarnings says which finalizers that o has and old, which may be nil, has
// not may be those of others too. o is a custom resource: elsewhere they are refused.
func FinalizerWarnings(old, o *object.Object) (warnings []string) {
	for _, name := range slices.Compact(slices.Sorted(slices.Values(o.Meta.Finalizers))) {
		if standardFinalizer(name) || strings.Contains(name, "/") || old != nil && slices.Contains(old.Meta.Finalizers, name) {
			continue
		}
		how := ""
		if strings.Contains(name, ".") {
			how = "including a path (/) "
		}
		warnings = append(warnings, fmt.Sprintf("metadata.finalizers: %q: prefer a domain-qualified finalizer name %sto avoid accidental conflicts with other finalizer writers", name, how))
	}
	return warnings
}

// ServiceWarnings says what of o, a Service, has no effect or is on its way out.
func ServiceWarnings(o *object.Object) (warnings []string) {
	raw, _ := o.Field("spec")
	var spec struct {
		Type, ClusterIP, LoadBalancerIP, SessionAffinity, ExternalName, TrafficDistribution string

		ExternalIPs []string
	}
	if json.Unmarshal(raw, &spec) != nil {
		return nil
	}
	add := func(on bool, text string) {
		if on {
			warnings = append(warnings, text)
		}
	}
	named, headless := spec.Type == "ExternalName", spec.Type == "ClusterIP" && spec.ClusterIP == "None"
	add(headless && spec.LoadBalancerIP != "", "spec.loadBalancerIP is ignored for headless services")
	add(headless && len(spec.ExternalIPs) > 0, "spec.externalIPs is ignored for headless services")
	add(headless && spec.SessionAffinity != "None", "spec.SessionAffinity is ignored for headless services")
	add(!headless && !named && len(spec.ExternalIPs) > 0, "spec.externalIPs is deprecated and may no longer be implemented in some clusters")
	add(named && len(spec.ExternalIPs) > 0, `spec.externalIPs is ignored when spec.type is "ExternalName"`)
	add(!named && spec.ExternalName != "", `spec.externalName is ignored when spec.type is not "ExternalName"`)
	add(spec.TrafficDistribution == "PreferClose", `spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"`)
	return warnings
}

// NameWarnings says what may come of the name of a new object.
func NameWarnings(r *object.Info, name string) []string {
	hosts := StrategyOf(r).hosts
	if hosts == "" {
		return nil
	}
	wrong := labelName(name)
	if r.Resource == kube.Jobs || r.Resource == kube.CronJobs { // the name is short, or refused
		wrong = slices.DeleteFunc(wrong, func(s string) bool { return s == tooLong(63, "characters") })
	}
	if len(wrong) == 0 {
		return nil
	}
	return []string{hosts + "[" + strings.Join(wrong, " ") + "]"}
}

// CountsGeneration reports whether o carries metadata.generation.
func CountsGeneration(r *object.Info, o *object.Object) bool {
	if r.NoCount || StrategyOf(r).counts {
		return !r.NoCount
	}
	_, ok := o.Field("spec")
	return ok || !r.BuiltIn
}
