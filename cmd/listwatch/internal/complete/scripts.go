package complete

import (
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// edit is a change of a script that cobra generates.
type edit struct{ old, new string }

// The scripts of cobra evaluate the words before the cursor. That of fish does so without
// their quotes: --where '.a > 3' would write a file. Those of bash and zsh evaluate a
// quote that is still open, which is an error, so that nothing is completed in an
// expression; and they run commands in it, and in the words before, such as $(rm x).
var edits = map[string][]edit{
	"bash": {
		// Without the function of bash-completion 2, the words have the redirections of the line.
		{"__listwatch_get_completion_results() {\n", `# Whether a line has a redirection that is not within quotes.
__listwatch_redirects()
{
    local i char quote=
    for (( i = 0; i < ${#1}; i++ )); do
        char=${1:i:1}
        case ${quote}${char} in
            '\' | '"\') (( i++ )) ;;
            "'" | '"') quote=${char} ;;
            "''" | '""') quote= ;;
            '<' | '>') return 0 ;;
        esac
    done
    return 1
}

__listwatch_get_completion_results() {
`},
		{`    if [[ -z ${cur} && ${lastChar} != = ]]; then
`, `    # Readline replaces a word with its quotes, and closes those after a completion, so
    # that a quote directly before the cursor is one that is still open.
    openQuote=""
    [[ ${cur} == -*=[\'\"]* ]] && cur=${cur#*=}
    if [[ ${cur} == [\'\"]* ]]; then
        openQuote=${cur:0:1}
        if [[ ${#cur} -gt 1 && ${cur} == *"${openQuote}" ]]; then
            cur=${cur:0:${#cur}-1}
        else
            requestComp+=${openQuote}
        fi
        cur=${cur:1}
    elif [[ -z ${cur} && ${lastChar} != = ]]; then
`},
		{`    local tab=$'\t'

    # If there are no completions, we don't need to do anything
    (( ${#completions[@]} == 0 )) && return 0

    # Short circuit`, `    local tab=$'\t'

    # If there are no completions, we don't need to do anything
    (( ${#completions[@]} == 0 )) && return 0

    # Within quotes nothing is escaped.
    if [[ -n ${openQuote} ]]; then
        local quotedComp
        for quotedComp in "${completions[@]%%$tab*}"; do
            [[ ${quotedComp} == "${cur}"* ]] && COMPREPLY+=("${openQuote}${quotedComp}")
        done
        return 0
    fi

    # Short circuit`},
		{"    out=$(eval \"${requestComp}\" 2>/dev/null)\n", `    if [[ ${requestComp} == *'$('* || ${requestComp} == *'` + "`" + `'* || ${requestComp} == *[\<\>]'('* ]] || __listwatch_redirects "${requestComp}"; then
        out=":4" directive=4
        return
    fi
    out=$(eval "${requestComp}" 2>/dev/null)
`},
		// printf escapes a comma, which bash does not interpret.
		{`            COMPREPLY[0]=$(printf "%q" "${COMPREPLY[0]}")
        fi
        return 0`, `            [[ ${COMPREPLY[0]} == *[!a-zA-Z0-9._:/@=,-]* ]] && COMPREPLY[0]=$(printf "%q" "${COMPREPLY[0]}")
        fi
        return 0`},
		{`    __listwatch_handle_special_char "$cur" :
    __listwatch_handle_special_char "$cur" =
`, `    # No character divides a quoted word.
    if [[ -z ${openQuote} ]]; then
        __listwatch_handle_special_char "$cur" :
        __listwatch_handle_special_char "$cur" =
    fi
`},
		{"local cur prev words cword split\n", "local cur prev words cword split openQuote\n"},
	},
	"zsh": {
		{`"${lastParam}" =~ '-.*=' ]]`, `"${whole}" =~ '^-[^=]*=' ]]`},
		{"    words=(\"${=words[1,CURRENT]}\")\n", `    # A quote within the last word, as in --where='.a, is one that zsh does not report.
    local whole=${words[CURRENT]} openQuote=${compstate[quote]}
    if [[ "${whole}" == -*=\'* && "${whole#*=\'}" != *\'* ]]; then
        openQuote="'"
    elif [[ "${whole}" == -*=\"* && "${whole#*=\"}" != *\"* ]]; then
        openQuote='"'
    fi
    words=("${=words[1,CURRENT]}")
`},
		{"    out=$(eval ${requestComp} 2>/dev/null)\n", `    if [[ "${requestComp}" == *'$('* || "${requestComp}" == *'` + "`" + `'* || "${requestComp}" == *[\<\>=]'('* ]]; then
        return 1
    fi
    out=$(eval ${requestComp} 2>/dev/null)
`},
		{`    if [ "${lastChar}" = "" ]; then
`, `    if [ -n "${openQuote}" ]; then
        requestComp="${requestComp}${openQuote}"
    elif [ "${lastChar}" = "" ]; then
`},
	},
	"fish": {
		{`    set -l args (commandline -opc)
`, `    # fish 4 expands variables. The words are without their quotes.
    set -l args (commandline -xpc 2> /dev/null; or commandline -opc)
    set args (string escape -- (string replace -r '^~(?=/|$)' -- $HOME $args))
`},
		{`(string escape -- (commandline -ct))`, `(string escape -- (commandline -ct | string replace -r '^(-[^=]*=)?[\'"]' '$1'))`},
		{`(string match -r -- '-.*=' "$lastArg")`, `(commandline -ct | string match -r -- '^-[^=]*=')`},
		{`string split --max 1 \t $__listwatch_comp_results[1]`, `string split --max 1 -- \t $__listwatch_comp_results[1]`},
		{`(commandline -t | string escape --style=regex)`, `(commandline -ct | string replace -r '^(-[^=]*=)?[\'"]' '$1' | string escape --style=regex)`},
	},
}

// script writes the completion script of a shell.
func script(root *cobra.Command, shell string, w io.Writer) error {
	var b strings.Builder
	var err error
	switch shell {
	case "bash":
		err = root.GenBashCompletionV2(&b, true)
	case "zsh":
		err = root.GenZshCompletion(&b)
	case "fish":
		err = root.GenFishCompletion(&b, true)
	case "powershell":
		err = root.GenPowerShellCompletionWithDesc(&b)
	}
	if err != nil {
		return err
	}
	text := b.String()
	for _, e := range edits[shell] {
		text = strings.Replace(text, e.old, e.new, 1)
	}
	_, err = io.WriteString(w, text)
	return err
}
