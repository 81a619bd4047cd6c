;; The loops of the encoder: what is done to each number of a token. Compiled into kernel-bytes.ts; a test compares the two.
;;
;; Products are of rows of int16 with rows of int8 weights. Their sums are int32: 1,280 products of 32,767 and 127, four of
;; which share a lane's sum with each other, stay below 2^31. All else is computed as JavaScript would, in double precision
;; and in the order of the numbers, and stored as float32 or float64, so that every engine has the same result. `count` is the number of
;; the numbers; parameters of the type i32 besides it are places in the memory.
(module
  (import "env" "memory" (memory 1 4096))

  ;; The sums of the lanes of four vectors.
  (func $sums (param $a v128) (param $b v128) (param $c v128) (param $d v128) (result v128)
    (local $ab v128) (local $cd v128)
    (local.set $ab (i32x4.add
      (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23 (local.get $a) (local.get $b))
      (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31 (local.get $a) (local.get $b))))
    (local.set $cd (i32x4.add
      (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23 (local.get $c) (local.get $d))
      (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31 (local.get $c) (local.get $d))))
    (i32x4.add
      (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 (local.get $ab) (local.get $cd))
      (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31 (local.get $ab) (local.get $cd))))

  ;; Writes out[row][output], int32: the product of each row of `from` with the weights of each output. `inputs` is a
  ;; multiple of 8, `outputs` of 4, `rows` of 2; `stride` is the number of bytes from one row to the next, so that rows
  ;; may overlap.
  (func $multiply (export "multiply")
    (param $from i32) (param $stride i32) (param $rows i32)
    (param $weights i32) (param $inputs i32) (param $outputs i32) (param $to i32)
    (local $output i32) (local $row i32) (local $a i32) (local $w i32) (local $left i32) (local $out i32)
    (local $a0 v128) (local $a1 v128) (local $x v128)
    (local $s0 v128) (local $s1 v128) (local $s2 v128) (local $s3 v128)
    (local $t0 v128) (local $t1 v128) (local $t2 v128) (local $t3 v128)
    (local $w1 i32) (local $w2 i32) (local $w3 i32)
    (loop $outputs
      (local.set $row (i32.const 0))
      (loop $rows
        (local.set $a (i32.add (local.get $from) (i32.mul (local.get $row) (local.get $stride))))
        (local.set $w (i32.add (local.get $weights) (i32.mul (local.get $output) (local.get $inputs))))
        (local.set $w1 (i32.add (local.get $w) (local.get $inputs)))
        (local.set $w2 (i32.add (local.get $w1) (local.get $inputs)))
        (local.set $w3 (i32.add (local.get $w2) (local.get $inputs)))
        (local.set $s0 (v128.const i32x4 0 0 0 0)) (local.set $s1 (v128.const i32x4 0 0 0 0))
        (local.set $s2 (v128.const i32x4 0 0 0 0)) (local.set $s3 (v128.const i32x4 0 0 0 0))
        (local.set $t0 (v128.const i32x4 0 0 0 0)) (local.set $t1 (v128.const i32x4 0 0 0 0))
        (local.set $t2 (v128.const i32x4 0 0 0 0)) (local.set $t3 (v128.const i32x4 0 0 0 0))
        (local.set $left (local.get $inputs))
        (loop $inputs
          (local.set $a0 (v128.load (local.get $a)))
          (local.set $a1 (v128.load (i32.add (local.get $a) (local.get $stride))))
          (local.set $x (v128.load8x8_s (local.get $w)))
          (local.set $s0 (i32x4.add (local.get $s0) (i32x4.dot_i16x8_s (local.get $a0) (local.get $x))))
          (local.set $t0 (i32x4.add (local.get $t0) (i32x4.dot_i16x8_s (local.get $a1) (local.get $x))))
          (local.set $x (v128.load8x8_s (local.get $w1)))
          (local.set $s1 (i32x4.add (local.get $s1) (i32x4.dot_i16x8_s (local.get $a0) (local.get $x))))
          (local.set $t1 (i32x4.add (local.get $t1) (i32x4.dot_i16x8_s (local.get $a1) (local.get $x))))
          (local.set $x (v128.load8x8_s (local.get $w2)))
          (local.set $s2 (i32x4.add (local.get $s2) (i32x4.dot_i16x8_s (local.get $a0) (local.get $x))))
          (local.set $t2 (i32x4.add (local.get $t2) (i32x4.dot_i16x8_s (local.get $a1) (local.get $x))))
          (local.set $x (v128.load8x8_s (local.get $w3)))
          (local.set $s3 (i32x4.add (local.get $s3) (i32x4.dot_i16x8_s (local.get $a0) (local.get $x))))
          (local.set $t3 (i32x4.add (local.get $t3) (i32x4.dot_i16x8_s (local.get $a1) (local.get $x))))
          (local.set $a (i32.add (local.get $a) (i32.const 16)))
          (local.set $w (i32.add (local.get $w) (i32.const 8)))
          (local.set $w1 (i32.add (local.get $w1) (i32.const 8)))
          (local.set $w2 (i32.add (local.get $w2) (i32.const 8)))
          (local.set $w3 (i32.add (local.get $w3) (i32.const 8)))
          (local.set $left (i32.sub (local.get $left) (i32.const 8)))
          (br_if $inputs (local.get $left)))
        (local.set $out (i32.add (local.get $to)
          (i32.shl (i32.add (i32.mul (local.get $row) (local.get $outputs)) (local.get $output)) (i32.const 2))))
        (v128.store (local.get $out)
          (call $sums (local.get $s0) (local.get $s1) (local.get $s2) (local.get $s3)))
        (v128.store (i32.add (local.get $out) (i32.shl (local.get $outputs) (i32.const 2)))
          (call $sums (local.get $t0) (local.get $t1) (local.get $t2) (local.get $t3)))
        (local.set $row (i32.add (local.get $row) (i32.const 2)))
        (br_if $rows (i32.lt_u (local.get $row) (local.get $rows))))
      (local.set $output (i32.add (local.get $output) (i32.const 4)))
      (br_if $outputs (i32.lt_u (local.get $output) (local.get $outputs)))))

  ;; The whole number next to a number; a half becomes the larger one, as with Math.round.
  (func $whole (param $value f64) (result f64)
    (local $above f64)
    (local.set $above (f64.ceil (local.get $value)))
    (select
      (f64.sub (local.get $above) (f64.const 1))
      (local.get $above)
      (f64.gt (f64.sub (local.get $above) (f64.const 0.5)) (local.get $value))))

  ;; A token's row of the table: the bytes of `bytes`, as int16 for a product and as the features that they stand for.
  (func (export "embed")
    (param $bytes i32) (param $count i32) (param $step f64) (param $low f64) (param $row i32) (param $features i32)
    (local $value i32)
    (loop $next
      (local.set $value (i32.load8_u (local.get $bytes)))
      (i32.store16 (local.get $row) (local.get $value))
      (f32.store (local.get $features) (f32.demote_f64 (f64.add
        (f64.mul (f64.convert_i32_s (local.get $value)) (local.get $step)) (local.get $low))))
      (local.set $bytes (i32.add (local.get $bytes) (i32.const 1)))
      (local.set $row (i32.add (local.get $row) (i32.const 2)))
      (local.set $features (i32.add (local.get $features) (i32.const 4)))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br_if $next (local.get $count))))

  ;; The features whose product with weights has the sums `sums`: rows of the table are whole steps above a lowest value,
  ;; which is the same for a row, so that its product with an output's weights needs their sum only (`ones`).
  (func (export "project")
    (param $sums i32) (param $ones i32) (param $bias i32) (param $count i32) (param $step f64) (param $low f64)
    (param $features i32)
    (loop $next
      (f32.store (local.get $features) (f32.demote_f64 (f64.add
        (f64.add
          (f64.mul (f64.convert_i32_s (i32.load (local.get $sums))) (local.get $step))
          (f64.mul (f64.convert_i32_s (i32.load (local.get $ones))) (local.get $low)))
        (f64.promote_f32 (f32.load (local.get $bias))))))
      (local.set $sums (i32.add (local.get $sums) (i32.const 4)))
      (local.set $ones (i32.add (local.get $ones) (i32.const 4)))
      (local.set $bias (i32.add (local.get $bias) (i32.const 4)))
      (local.set $features (i32.add (local.get $features) (i32.const 4)))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br_if $next (local.get $count))))

  ;; Adds to features what a convolution answers, where it is positive.
  (func (export "add")
    (param $sums i32) (param $bias i32) (param $count i32) (param $step f64) (param $features i32)
    (local $value f64)
    (loop $next
      (local.set $value (f64.add
        (f64.mul (f64.convert_i32_s (i32.load (local.get $sums))) (local.get $step))
        (f64.promote_f32 (f32.load (local.get $bias)))))
      (if (f64.gt (local.get $value) (f64.const 0))
        (then (f32.store (local.get $features) (f32.demote_f64 (f64.add
          (f64.promote_f32 (f32.load (local.get $features))) (local.get $value))))))
      (local.set $sums (i32.add (local.get $sums) (i32.const 4)))
      (local.set $bias (i32.add (local.get $bias) (i32.const 4)))
      (local.set $features (i32.add (local.get $features) (i32.const 4)))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br_if $next (local.get $count))))

  ;; Gives features the mean 0 and the deviation 1, then gains and shifts.
  (func (export "normalize")
    (param $features i32) (param $count i32) (param $gain i32) (param $shift i32) (param $epsilon f64)
    (local $at i32) (local $end i32) (local $length f64) (local $mean f64) (local $off f64) (local $scale f64)
    (local.set $end (i32.add (local.get $features) (i32.shl (local.get $count) (i32.const 2))))
    (local.set $length (f64.convert_i32_s (local.get $count)))
    (local.set $at (local.get $features))
    (loop $next
      (local.set $mean (f64.add (local.get $mean) (f64.promote_f32 (f32.load (local.get $at)))))
      (local.set $at (i32.add (local.get $at) (i32.const 4)))
      (br_if $next (i32.lt_u (local.get $at) (local.get $end))))
    (local.set $mean (f64.div (local.get $mean) (local.get $length)))
    (local.set $at (local.get $features))
    (loop $next
      (local.set $off (f64.sub (f64.promote_f32 (f32.load (local.get $at))) (local.get $mean)))
      (local.set $scale (f64.add (local.get $scale) (f64.mul (local.get $off) (local.get $off))))
      (local.set $at (i32.add (local.get $at) (i32.const 4)))
      (br_if $next (i32.lt_u (local.get $at) (local.get $end))))
    (local.set $scale (f64.div (f64.const 1) (f64.sqrt (f64.add
      (f64.div (local.get $scale) (local.get $length)) (local.get $epsilon)))))
    (loop $next
      (f32.store (local.get $features) (f32.demote_f64 (f64.add
        (f64.mul
          (f64.mul (f64.sub (f64.promote_f32 (f32.load (local.get $features))) (local.get $mean)) (local.get $scale))
          (f64.promote_f32 (f32.load (local.get $gain))))
        (f64.promote_f32 (f32.load (local.get $shift))))))
      (local.set $features (i32.add (local.get $features) (i32.const 4)))
      (local.set $gain (i32.add (local.get $gain) (i32.const 4)))
      (local.set $shift (i32.add (local.get $shift) (i32.const 4)))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br_if $next (local.get $count))))

  ;; The size of the largest feature, at least `largest`.
  (func (export "largest") (param $features i32) (param $count i32) (param $largest f64) (result f64)
    (local $size f64)
    (loop $next
      (local.set $size (f64.abs (f64.promote_f32 (f32.load (local.get $features)))))
      (if (f64.gt (local.get $size) (local.get $largest)) (then (local.set $largest (local.get $size))))
      (local.set $features (i32.add (local.get $features) (i32.const 4)))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br_if $next (local.get $count)))
    (local.get $largest))

  ;; Writes features as whole steps, int16.
  (func (export "round") (param $features i32) (param $count i32) (param $perValue f64) (param $row i32)
    (loop $next
      (i32.store16 (local.get $row) (i32.trunc_sat_f64_s (call $whole
        (f64.mul (f64.promote_f32 (f32.load (local.get $features))) (local.get $perValue)))))
      (local.set $features (i32.add (local.get $features) (i32.const 4)))
      (local.set $row (i32.add (local.get $row) (i32.const 2)))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br_if $next (local.get $count))))

  ;; Adds features to sums in double precision.
  (func (export "sum") (param $features i32) (param $count i32) (param $sums i32)
    (loop $next
      (f64.store (local.get $sums) (f64.add (f64.load (local.get $sums))
        (f64.promote_f32 (f32.load (local.get $features)))))
      (local.set $features (i32.add (local.get $features) (i32.const 4)))
      (local.set $sums (i32.add (local.get $sums) (i32.const 8)))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br_if $next (local.get $count))))

  ;; Numbers of double precision through one layer of the last network: their product with weights, which `to` gets, added to
  ;; what is there if `adds`. They are rounded to `steps` whole steps for the product; `row` and `sums` are its places.
  (func (export "through")
    (param $values i32) (param $steps f64) (param $weights i32) (param $inputs i32) (param $outputs i32) (param $step f64)
    (param $row i32) (param $sums i32) (param $adds i32) (param $to i32)
    (local $at i32) (local $end i32) (local $largest f64) (local $perValue f64) (local $value f64)
    (local.set $end (i32.add (local.get $values) (i32.shl (local.get $inputs) (i32.const 3))))
    (local.set $at (local.get $values))
    (loop $next
      (local.set $value (f64.abs (f64.load (local.get $at))))
      (if (f64.gt (local.get $value) (local.get $largest)) (then (local.set $largest (local.get $value))))
      (local.set $at (i32.add (local.get $at) (i32.const 8)))
      (br_if $next (i32.lt_u (local.get $at) (local.get $end))))
    (if (f64.gt (local.get $largest) (f64.const 0))
      (then (local.set $perValue (f64.div (local.get $steps) (local.get $largest)))))
    (local.set $step (f64.mul (f64.div (local.get $largest) (local.get $steps)) (local.get $step)))
    (local.set $at (local.get $row))
    (loop $next
      (i32.store16 (local.get $at) (i32.trunc_sat_f64_s (call $whole
        (f64.mul (f64.load (local.get $values)) (local.get $perValue)))))
      (local.set $at (i32.add (local.get $at) (i32.const 2)))
      (local.set $values (i32.add (local.get $values) (i32.const 8)))
      (br_if $next (i32.lt_u (local.get $values) (local.get $end))))
    (call $multiply (local.get $row) (i32.const 0) (i32.const 1)
      (local.get $weights) (local.get $inputs) (local.get $outputs) (local.get $sums))
    (loop $next
      (local.set $value (f64.mul (f64.convert_i32_s (i32.load (local.get $sums))) (local.get $step)))
      (if (local.get $adds)
        (then (local.set $value (f64.add (f64.load (local.get $to)) (local.get $value)))))
      (f64.store (local.get $to) (local.get $value))
      (local.set $sums (i32.add (local.get $sums) (i32.const 4)))
      (local.set $to (i32.add (local.get $to) (i32.const 8)))
      (local.set $outputs (i32.sub (local.get $outputs) (i32.const 1)))
      (br_if $next (local.get $outputs))))

  ;; Negative numbers of double precision become 0.
  (func (export "positive") (param $values i32) (param $count i32)
    (loop $next
      (f64.store (local.get $values) (f64.max (f64.load (local.get $values)) (f64.const 0)))
      (local.set $values (i32.add (local.get $values) (i32.const 8)))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br_if $next (local.get $count))))

  ;; The hyperbolic tangent of numbers of double precision, to about 15 digits.
  (func (export "tanh") (param $values i32) (param $count i32)
    (loop $next
      (f64.store (local.get $values) (call $tangent (f64.load (local.get $values))))
      (local.set $values (i32.add (local.get $values) (i32.const 8)))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br_if $next (local.get $count))))

  (func $tangent (param $x f64) (result f64)
    (local $exponent f64) (local $k f64) (local $r f64) (local $power f64)
    (if (f64.gt (f64.abs (local.get $x)) (f64.const 20))
      (then (return (f64.copysign (f64.const 1) (local.get $x)))))
    ;; e^(-2|x|) = 2^k e^r, with r within half of ln 2, which is the sum of two numbers here. The series has 14 terms.
    (local.set $exponent (f64.mul (f64.const -2) (f64.abs (local.get $x))))
    (local.set $k (call $whole (f64.div (local.get $exponent) (f64.const 0.6931471805599453))))
    (local.set $r (f64.sub
      (f64.sub (local.get $exponent) (f64.mul (local.get $k) (f64.const 0.6931471803691238)))
      (f64.mul (local.get $k) (f64.const 1.9082149292705877e-10))))
    (local.set $power (f64.const 1.6059043836821613e-10))
    (local.set $power (f64.add (f64.mul (local.get $power) (local.get $r)) (f64.const 2.08767569878681e-09)))
    (local.set $power (f64.add (f64.mul (local.get $power) (local.get $r)) (f64.const 2.505210838544172e-08)))
    (local.set $power (f64.add (f64.mul (local.get $power) (local.get $r)) (f64.const 2.755731922398589e-07)))
    (local.set $power (f64.add (f64.mul (local.get $power) (local.get $r)) (f64.const 2.7557319223985893e-06)))
    (local.set $power (f64.add (f64.mul (local.get $power) (local.get $r)) (f64.const 2.48015873015873e-05)))
    (local.set $power (f64.add (f64.mul (local.get $power) (local.get $r)) (f64.const 0.0001984126984126984)))
    (local.set $power (f64.add (f64.mul (local.get $power) (local.get $r)) (f64.const 0.001388888888888889)))
    (local.set $power (f64.add (f64.mul (local.get $power) (local.get $r)) (f64.const 0.008333333333333333)))
    (local.set $power (f64.add (f64.mul (local.get $power) (local.get $r)) (f64.const 0.041666666666666664)))
    (local.set $power (f64.add (f64.mul (local.get $power) (local.get $r)) (f64.const 0.16666666666666666)))
    (local.set $power (f64.add (f64.mul (local.get $power) (local.get $r)) (f64.const 0.5)))
    (local.set $power (f64.add (f64.mul (local.get $power) (local.get $r)) (f64.const 1.0)))
    (local.set $power (f64.add (f64.mul (local.get $power) (local.get $r)) (f64.const 1.0)))
    (local.set $power (f64.mul (local.get $power) (f64.reinterpret_i64
      (i64.shl (i64.add (i64.trunc_sat_f64_s (local.get $k)) (i64.const 1023)) (i64.const 52)))))
    (f64.copysign
      (f64.div
        (f64.sub (f64.const 1) (local.get $power))
        (f64.add (f64.const 1) (local.get $power)))
      (local.get $x))))
