import { readFileSync, statSync } from 'node:fs'

/** Largest file that is read for a setting. */
const MAX_SECRET_FILE_BYTES = 65_536
const FILE_VARIABLE_SUFFIX = '_FILE'

type Environment = Readonly<Record<string, string | undefined>>

interface FileProblem {
  readonly variable: string
  readonly message: string
}

/**
 * The environment with each secret that `X_FILE` names read from its file, without one line break at its end: how Docker and
 * Kubernetes hand secrets over. A variable that is given both ways, and a file that cannot be read, is a problem.
 */
export const readSecretFiles = (
  given: Environment,
  isSecretName: (variable: string) => boolean,
): { readonly environment: Environment; readonly problems: readonly FileProblem[] } => {
  const environment: Record<string, string | undefined> = { ...given }
  const problems: FileProblem[] = []
  for (const [name, path] of Object.entries(given)) {
    const variable = name.endsWith(FILE_VARIABLE_SUFFIX)
      ? name.slice(0, -FILE_VARIABLE_SUFFIX.length)
      : ''
    if (!isSecretName(variable) || path === undefined) continue
    delete environment[name]
    if (path === '') continue
    if ((given[variable] ?? '') !== '') {
      problems.push({ variable, message: `is set together with ${name}; set one of the two` })
      continue
    }
    try {
      if (statSync(path).size > MAX_SECRET_FILE_BYTES) {
        const message = `the file ${path} is larger than ${MAX_SECRET_FILE_BYTES} bytes; expected the secret alone`
        problems.push({ variable: name, message })
        continue
      }
      environment[variable] = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
    } catch (error) {
      const why = error instanceof Error && 'code' in error ? String(error.code) : String(error)
      problems.push({
        variable: name,
        message: `the file ${path} cannot be read: ${why}. Check its path and permissions`,
      })
    }
  }
  return { environment, problems }
}
