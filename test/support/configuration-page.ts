import { envExample } from '../../core/config/env-example.ts'

const HEAD = `# Configuration

Every role reads the same environment variables. Each mistake is reported at start with the name of its variable. A secret can be given as a file instead:
\`NAME_FILE\` names the file that holds the value of \`NAME\`. The same list as a file to copy is \`.env.example\`.

| variable | default | meaning |
| --- | --- | --- |
`

/** The page \`docs/configuration.md\`: a row per variable of \`.env.example\`. */
export const configurationPage = (): string =>
  HEAD +
  [...envExample().matchAll(/^# (.*)\n#([^=\n]+)=(.*)$/gm)]
    .map(([, meaning = '', name, value]) => {
      const text = meaning.replace(/ \(or \S+_FILE: a file that holds it\)$/, ' (secret)')
      return `| \`${name}\` | ${value === '' ? '' : `\`${value}\``} | ${text.replaceAll('|', '\\|')} |\n`
    })
    .join('')
