package compat_test

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// difference is one that is accepted. Where it applies, what the expression
// matches is replaced, and a line of which nothing is left is dropped.
type difference struct {
	story  string         // pattern of the story's name, as of path.Match, with / as any letter
	step   string         // the same of the step; "" = every step
	match  *regexp.Regexp // matched line by line
	with   string         // replacement
	reason string
}

// differences are all differences between apitest and kube-apiserver that the
// stories accept, with the reason.
var differences = []difference{
	{
		story: "*", step: "requests*", match: regexp.MustCompile(`-> ([0-9]+) application/vnd\.kubernetes\.protobuf(;stream=watch)?$`), with: "-> $1 application/json",
		reason: "apitest responds in JSON where a client prefers protobuf: all accept both",
	},
	{
		story: "Random", step: "*", match: regexp.MustCompile(`^(\s+"description"): ".*",$`), with: "$1",
		reason: "the descriptions of a Table's columns are the API's documentation, which apitest does not contain; no client shows them",
	},
	{
		story: "Random", step: "*", match: regexp.MustCompile(`^( "message"): "(?:unable to parse requirement: .*|found '.*', expected: .*|<nil>: Invalid value: .*)",$`), with: "$1: NO SELECTOR",
		reason: "errors of label selectors have the texts of package kube's parser",
	},
	{
		story: "Kubectl*Write", step: `*"replicas":"many"*`, match: regexp.MustCompile(`(patch: Invalid value: )".*"(: json: cannot unmarshal )`), with: "$1OBJECT$2",
		reason: "the error quotes the object after the patch, whose members are in another order",
	},
	{
		story: "Random", step: "*", match: regexp.MustCompile(`(if it was previously negative\)).*$`), with: "$1",
		reason: "the error of a forbidden change of a pod contains a diff of its spec in Go syntax",
	},
	{
		story: "Random", step: "*", match: regexp.MustCompile(`(Invalid value: )\{.*\}(: field is immutable)`), with: "${1}OBJECT$2",
		reason: "the error of an immutable object quotes it with its Go field names",
	},
	{
		story: "Random", step: "scale *", match: regexp.MustCompile(`^(\s+"message": ".*Invalid value: )\\"(map\[|\{).*$`), with: "$1OBJECT",
		reason: "as for patches of other things",
	},
	{
		story: "Random", step: "status *", match: regexp.MustCompile(`^(\s+"message": ".*Invalid value: )\\"(map\[|\{).*$`), with: "$1OBJECT",
		reason: "as for patches of other things",
	},
	{
		story: "Random", step: "*patch *", match: regexp.MustCompile(`^(\s+"message": ".*Invalid value: )\\"(map\[|\{).*$`), with: "$1OBJECT",
		reason: "the error of a patch result that cannot be decoded quotes it, and has the text of Go's decoder or of package schema",
	},
	{
		story: "Random", step: "apply *", match: regexp.MustCompile(`^( "message": "error )(encoding patch: yaml: .*|decoding YAML: it is not YAML)",$`), with: "$1",
		reason: "errors of YAML documents have the texts of another parser",
	},
	{
		story: "Kubectl*Discover", step: "?? explain*", match: regexp.MustCompile(`^(    [^\t]*|DESCRIPTION:|)$`), with: "",
		reason: "apitest's OpenAPI has the fields and types of built-in kinds, but not their documentation of some megabytes",
	},
	{
		story: "Kubectl*Discover", step: "?? auth can-i*--as*", match: regexp.MustCompile(`^(exit [01]|yes|no)$`), with: "",
		reason: "apitest permits everything: there is no RBAC, and permissions are tested by faults (403)",
	},
	{
		story: "Kubectl*Discover", step: "?? auth whoami", match: regexp.MustCompile(`^(Username|UID|Groups) .*$`), with: "",
		reason: "the users of the servers have different names",
	},
	{
		story: "Kubectl*Discover", step: "?? api-*", with: "",
		match:  regexp.MustCompile(`^(apiregistration\.k8s\.io/v1|apiservices\b.*|componentstatuses\b.*|autoscaling/v1)$`),
		reason: "apitest has no aggregated API servers, and neither autoscaling/v1 nor component statuses",
	},
	{
		story: "Kubectl*Discover", step: "?? explain*plaintext-openapiv2", match: regexp.MustCompile(`^.*$`), with: "",
		reason: "apitest has types in OpenAPI v3, which kubectl uses by default, but not in v2",
	},
	{
		story: "Kubectl*Discover", step: "?? auth can-i --list*", match: regexp.MustCompile(`^.*\[\].*$`), with: "",
		reason: "apitest permits everything: there is no RBAC, so there is only one rule to list",
	},
	{
		story: "Kubectl*Discover", step: "*version*", match: regexp.MustCompile(`"(buildDate|compiler|gitCommit|gitTreeState|goVersion)":"[^"]*",`), with: "",
		reason: "the servers are different builds",
	},
	{
		story: "Kubectl*Discover", step: "?? get --raw /apis", with: "",
		match:  regexp.MustCompile(`\{"name":"apiregistration\.k8s\.io".*?\}\]\},|,\{"groupVersion":"autoscaling/v1","version":"v1"\}`),
		reason: "apitest has no aggregated API servers, and neither autoscaling/v1 nor component statuses",
	},
	{
		story: "Kubectl*Discover", step: "?? get --raw /livez*", match: regexp.MustCompile(`^(\[\+\].*|livez check passed|ok)$`), with: "",
		reason: "apitest has fewer parts to check",
	},
	{
		story: "Kubectl*Discover", step: "?? cluster-info dump*", match: regexp.MustCompile(`"items":(null|\[\])`), with: `"items":[]`,
		reason: "a list without items is null in protobuf, and empty in JSON, which apitest sends",
	},
	{
		story: "Kubectl*Create", step: "?? create*token*", match: regexp.MustCompile(`^(compat-token|TOKEN)$`), with: "TOKEN",
		reason: "apitest does not sign tokens: it accepts its own token only",
	},
	{
		story: "Kubectl*Create", step: "* ds agent*", match: regexp.MustCompile(`^(  annotations:|    deprecated\.daemonset\.template\.generation: "1"|Annotations:  (<none>|deprecated\.daemonset\.template\.generation: 1))$`), with: "",
		reason: "an annotation that is unused since extensions/v1beta1 was removed",
	},
	{
		story: "Kubectl*Create", step: "* pvc disk*", match: regexp.MustCompile(`^(  finalizers:|  - kubernetes\.io/pvc-protection|Finalizers:  \[.*\])$`), with: "",
		reason: "no controllers run beside apitest, so it does not add the finalizer to a claim that nothing would remove",
	},
	{
		story: "Kubectl*Node", step: "* node*", with: "",
		match: regexp.MustCompile(`,"taints":\[\{"effect":"NoSchedule","key":"node\.kubernetes\.io/not-ready"\}\]|^(status:|  (daemonEndpoints|nodeInfo|taints):|  - effect: NoSchedule|    key: node\.kubernetes\.io/not-ready|` +
			`    kubeletEndpoint:|      Port: 0|    [a-zA-Z]+: ""|Taints:  (<none>|node\.kubernetes\.io/not-ready:NoSchedule))$`),
		reason: "no controllers run beside apitest, so it does not add the taint to a node that nothing would remove, nor an empty status for a kubelet to fill",
	},
	{
		story: "Kubectl*Delete", step: "?? create * late", match: regexp.MustCompile(`^.*$`), with: "",
		reason: "apitest empties and deletes a namespace itself, as the controllers of a cluster do; this kube-apiserver runs without controllers",
	},
	{
		story: "Kubectl*Delete", step: "?? get ns * -o *", match: regexp.MustCompile(`^.*$`), with: "",
		reason: "apitest empties and deletes a namespace itself, as the controllers of a cluster do; this kube-apiserver runs without controllers",
	},
	{
		story: "Kubectl*Delete", step: "* pod bound *", match: regexp.MustCompile(`^.*$`), with: "",
		reason: "apitest has no kubelets: a deleted Pod disappears at once, even if it is bound to a node",
	},
	{
		story: "Kubectl*Kubelet", step: "*", with: "",
		match:  regexp.MustCompile(`this server runs no containers|pod worker does not have a host assigned|address not allowed|(Error from server )?\((MethodNotAllowed|BadRequest)\): |the server does not allow this method on the requested resource`),
		reason: "apitest has no kubelets: logs say so, and exec, attach, port-forward, cp and proxy are refused with its own texts",
	},
}

// TestDifferences prints the table, with -v, and wants a reason for each.
func TestDifferences(t *testing.T) {
	for _, d := range differences {
		t.Logf("%s, step %q, %s: %s", d.story, d.step, d.match, d.reason)
		if d.reason == "" {
			t.Errorf("%s, %s: no reason", d.story, d.match)
		}
	}
}

// like is path.Match for names that are not paths.
func like(pattern, name string) bool {
	flat := strings.NewReplacer("/", "|")
	ok, err := path.Match(flat.Replace(pattern), flat.Replace(name))
	return ok && err == nil
}

func accept(story, step string, lines []string) []string {
	var kept []string
	for _, line := range lines {
		dropped := false
		for _, d := range differences {
			if !like(d.story, story) || d.step != "" && !like(d.step, step) {
				continue
			}
			if d.match.MatchString(line) {
				line = d.match.ReplaceAllString(line, d.with)
				dropped = dropped || line == ""
			}
		}
		if !dropped {
			kept = append(kept, line)
		}
	}
	return kept
}
