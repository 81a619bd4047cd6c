/** A map with at most `max` entries: setting a further one drops the one that was set the longest time ago. */
export class BoundedMap<K, V> extends Map<K, V> {
  constructor(private readonly max: number) {
    super();
  }

  /** Makes the entry the youngest. */
  override set(key: K, value: V): this {
    this.delete(key);
    super.set(key, value);
    if (this.size > this.max) this.delete(this.keys().next().value as K);
    return this;
  }

  /** Reads an entry and makes it the youngest. */
  use(key: K): V | undefined {
    const value = this.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }
}
