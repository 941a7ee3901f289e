export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/**
 * What a shell reads once. It asks the program at every Tab, so that no list of commands can grow old; where the
 * program has nothing to say about a place, or cannot be asked, the shell offers file names.
 */
export const scripts: Record<Shell, string> = {
  bash: `_oubliette() {
  local words word
  if words=$(oubliette completion bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null); then
    compopt +o default 2>/dev/null
    while IFS= read -r word; do
      [ -n "$word" ] && COMPREPLY+=("$(printf %q "$word")")
    done <<<"$words"
  fi
}
complete -o default -F _oubliette oubliette
`,
  zsh: `#compdef oubliette
_oubliette() {
  local words_found
  if words_found=$(oubliette completion zsh -- "\${(@)words[2,CURRENT]}" 2>/dev/null); then
    local -a found=("\${(@f)words_found}")
    [[ -n $words_found ]] && _describe oubliette found
  else
    _files
  fi
}
if [[ \${funcstack[1]} == _oubliette ]]; then _oubliette "$@"; else compdef _oubliette oubliette; fi
`,
  fish: `function __oubliette_words
    set -l written (commandline -opc)
    set -l current (commandline -ct)
    if set -l found (oubliette completion fish -- $written[2..-1] "$current" 2>/dev/null)
        printf '%s\\n' $found
    else
        __fish_complete_path "$current"
    end
end
complete -c oubliette -f -a '(__oubliette_words)'
`,
};
