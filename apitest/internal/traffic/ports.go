package traffic

import "github.com/listwatch/listwatch/apitest/internal/rules"

// RefuseNodePorts refuses the first of the new node ports of a Service that is not in the range,
// as its allocation by a real server does.
func RefuseNodePorts(r *rules.Refusals, spec, old map[string]any) {
	had := map[int64]bool{0: true} // 0: the server chooses
	for p := range rules.ObjectsAt(old, "ports") {
		had[rules.IntAt(p, "nodePort")] = true
	}
	for at, p := range rules.Elements("spec", spec, "ports") {
		if n := rules.IntAt(p, "nodePort"); !had[n] && (n < 30000 || n > 32767) {
			r.Invalid(at+".nodePort", n, "provided port is not in the valid range. The range of valid ports is 30000-32767")
			return
		}
	}
}
