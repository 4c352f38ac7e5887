import { FAULTS, type FaultDefinition } from '../../core/errors.ts'

const HEAD = `# Errors

Errors of REST are \`application/problem+json\` ([RFC 9457](https://www.rfc-editor.org/rfc/rfc9457)) with these fields besides: \`code\`, \`name\`, \`message\`, \`requestId\` (also in the header
\`X-Request-Id\`), \`timestamp\`, and \`details\` where there is more to say. GraphQL has the same codes in \`errors[].extensions\`. Codes and names stay; messages may change.

- **Repeat**: "yes" is worth another try of the same request: after \`Retry-After\` where the answer has it (429 and 503), else after 1, 2, 4 and 8 seconds. The others say
  what to change first: the request, the credential, the plan, or the installation; 42901 ends when what is pending has ended. Ask for the job before you send a transaction again.
- With \`ERRORS_STATUS_MODE=reference\` the status is the one in brackets, as clients of the reference API expect; the code is the same.

| code | name | status | meaning | repeat |
| --- | --- | --- | --- | --- |
`

const statusText = ({ status, reference }: FaultDefinition): string =>
  reference === status ? `${status}` : `${status} (${reference})`

/** The page `docs/errors.md`: a row per code. */
export const errorsPage = (): string =>
  HEAD +
  Object.entries<FaultDefinition>(FAULTS)
    .toSorted(([, one], [, other]) => one.code - other.code)
    .map(
      ([name, fault]) =>
        `| ${fault.code} | \`${name}\` | ${statusText(fault)} | ${fault.message} | ${fault.retry ? 'yes' : 'no'} |\n`,
    )
    .join('')
